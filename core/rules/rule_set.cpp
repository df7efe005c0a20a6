#include <fstream>
#include <iterator>
#include <sstream>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/rules/lexer.h"
#include "core/rules/library.h"
#include "core/rules/parser.h"
#include "core/rules/pattern.h"
#include "core/rules/rule.h"

namespace reverie {

const std::string& Rule::name() const { return pattern_->name; }
const std::string& Rule::text() const { return pattern_->text; }
const std::string& Rule::origin() const { return pattern_->origin; }

namespace {

bool names_it(std::string_view pattern, std::string_view rule) {
  return pattern.ends_with('*') ? rule.starts_with(pattern.substr(0, pattern.size() - 1))
                                : rule == pattern;
}

}  // namespace

const RuleSet& RuleSet::builtin() {
  static const RuleSet rules = [] {
    RuleSet all;
    for (const LibraryFile& file : library_files())
      all.append(parse(file.text, std::string(file.name)));
    return all;
  }();
  return rules;
}

RuleSet RuleSet::parse(std::string_view text, const std::string& name) {
  RuleSet rules;
  for (RulePattern& pattern : parse_rules(text, name))
    rules.add(Rule(std::make_shared<const RulePattern>(std::move(pattern))));
  return rules;
}

RuleSet RuleSet::load(const std::string& path) {
  if (path == "builtin") return builtin();
  if (path == "generated") return parse(generated_library(), "generated.rules");
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  if (!file || file.bad() || text.fail())
    throw InputError("cannot read rules from '{}': check that the file exists and is readable",
                     path);
  RuleSet rules = parse(text.str(), path);
  if (rules.size() == 0) throw InputError("'{}' holds no rule", path);
  return rules;
}

RuleSet RuleSet::load_all(const std::vector<std::string>& paths) {
  if (paths.empty()) return builtin();
  RuleSet rules;
  for (const std::string& path : paths) rules.append(load(path));
  return rules;
}

void RuleSet::add(Rule rule) {
  if (const int other = find(rule.name()); other >= 0)
    throw InputError("{}: rule '{}' exists already, from {}: rename one of them", rule.origin(),
                     rule.name(), (*this)[other].origin());
  rules_.push_back(std::move(rule));
}

void RuleSet::append(const RuleSet& other) {
  for (const Rule& rule : other.rules_) add(rule);
}

RuleSet RuleSet::subset(std::span<const std::string> names) const {
  RuleSet result;
  for (const std::string& name : names) {
    const int rule = find(name);
    if (rule < 0) throw InputError("there is no rule '{}'", name);
    result.add((*this)[rule]);
  }
  return result;
}

RuleSet RuleSet::without(const std::vector<std::string>& patterns,
                         std::vector<std::string>* unused) const {
  std::vector<bool> used(patterns.size());
  RuleSet result;
  for (const Rule& rule : rules_) {
    bool stays = true;
    for (size_t i = 0; i < patterns.size(); ++i)
      if (names_it(patterns[i], rule.name())) stays = false, used[i] = true;
    if (stays) result.add(rule);
  }
  for (size_t i = 0; unused != nullptr && i < patterns.size(); ++i)
    if (!used[i]) unused->push_back(patterns[i]);
  return result;
}

int RuleSet::find(std::string_view name) const {
  for (int i = 0; i < size(); ++i)
    if (this->name(i) == name) return i;
  return -1;
}

uint64_t RuleSet::fingerprint() const {
  uint64_t hash = rules_.size();
  for (const Rule& rule : rules_)
    for (const Token& token :
         tokenize(rule.text().substr(0, rule.pattern().proof_begin), rule.origin()))
      if (token.kind != Token::Kind::kNewline) hash = hash_combine(hash, hash_string(token.text));
  return hash;
}

}  // namespace reverie
