#include "core/base/config.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "core/base/error.h"
#include "core/base/files.h"

namespace reverie {
namespace internal {

bool parse_bool(const std::string& text) {
  if (text == "true" || text == "yes" || text == "on") return true;
  if (text == "false" || text == "no" || text == "off") return false;
  throw InputError("'{}' is neither true nor false", text);
}

template <class T>
T parse_whole(const std::string& text, const char* kind) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc::result_out_of_range) throw InputError("{} is too large", text);
  if (error != std::errc() || stop != end) throw InputError("'{}' is not {}", text, kind);
  return value;
}

int64_t parse_integer(const std::string& text, double low, double high) {
  const auto value = parse_whole<int64_t>(text, "an integer");
  if (static_cast<double>(value) < low || static_cast<double>(value) > high)
    throw InputError("{} is outside {} to {}", text, low, high);
  return value;
}

uint64_t parse_unsigned(const std::string& text, double low, double high) {
  const auto value = parse_whole<uint64_t>(text, "an integer of at least 0");
  if (static_cast<double>(value) < low || static_cast<double>(value) > high)
    throw InputError("{} is outside {} to {}", text, low, high);
  return value;
}

double parse_number(const std::string& text) {
  const double value = parse_whole<double>(text, "a number");
  if (!std::isfinite(value)) throw InputError("'{}' is not a finite number", text);
  return value;
}

void check_range(double value, const ConfigRange& range) {
  const bool low = range.low_excluded ? value > range.low : value >= range.low;
  if (!low || value > range.high)
    throw InputError("{} is out of range; give a number{}", value, range_text(range));
}

std::string range_text(const ConfigRange& range) {
  std::string text;
  if (std::isfinite(range.low))
    text += fmt::format(" {} {}", range.low_excluded ? "above" : "of at least", range.low);
  if (std::isfinite(range.high))
    text += fmt::format("{} at most {}", text.empty() ? " of" : " and", range.high);
  return text;
}

std::string number_text(double value) { return fmt::format("{}", value); }
std::string float_text(float value) { return fmt::format("{}", value); }

size_t find_name(const std::string& text, const std::vector<std::string_view>& names) {
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) throw InputError("'{}' is not one of {}", text, join_names(names));
  return static_cast<size_t>(found - names.begin());
}

std::string join_names(const std::vector<std::string_view>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string single_item(const ConfigText& text) {
  if (text.list) throw InputError("one value is needed, not a list");
  return text.items.at(0);
}

std::string trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(" \t") - begin + 1));
}

std::vector<std::string> list_items(const ConfigText& text) {
  if (text.list) return text.items;
  std::string whole = trimmed(text.items.at(0));
  if (whole.size() >= 2 && whole.front() == '[' && whole.back() == ']')
    whole = trimmed(whole.substr(1, whole.size() - 2));
  std::vector<std::string> items;
  if (whole.empty()) return items;
  for (size_t begin = 0; begin <= whole.size();) {
    const size_t comma = std::min(whole.find(',', begin), whole.size());
    items.push_back(trimmed(std::string_view(whole).substr(begin, comma - begin)));
    begin = comma + 1;
  }
  return items;
}

/// The section that a key stands in; empty at the top.
std::string section_of(const std::string& key) {
  const size_t dot = key.rfind('.');
  return dot == std::string::npos ? "" : key.substr(0, dot);
}

size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace internal

std::optional<std::string> nearest_word(const std::string& word,
                                        const std::vector<std::string>& known) {
  std::optional<std::string> best;
  size_t best_distance = std::max<size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : known) {
    const size_t longer = std::max(word.size(), candidate.size());
    if (longer - std::min(word.size(), candidate.size()) >= best_distance) continue;  // nor nearer
    const size_t distance = internal::edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

/// Walks a YAML tree and sets the fields it names.
class ConfigLoader {
 public:
  ConfigLoader(ConfigFields& fields, std::string source)
      : fields_(fields), source_(std::move(source)) {}

  void load(const YAML::Node& node, const std::string& prefix) {
    if (!node.IsMap())
      throw InputError("{}: a section with 'key: value' lines is needed here", place(node));
    std::set<std::string> seen;
    for (const auto& entry : node) {
      const YAML::Node& key_node = entry.first;
      if (!key_node.IsScalar()) throw InputError("{}: a key must be a plain word", place(key_node));
      const std::string key = prefix + key_node.Scalar();
      with_context(place(key_node), [&] {
        if (!seen.insert(key).second) throw InputError("key '{}' is given twice", key);
      });
      load_entry(key_node, key, entry.second);
    }
  }

 private:
  void load_entry(const YAML::Node& key_node, const std::string& key, const YAML::Node& value) {
    if (fields_.is_section(key)) {
      if (!value.IsNull()) load(value, key + ".");
      return;
    }
    with_context(place(key_node), [&] {
      ConfigField* field = fields_.find(key);
      if (field == nullptr) fields_.unknown(key);
      with_context(key, [&] { field->set(text_of(value)); });
    });
  }

  static ConfigText text_of(const YAML::Node& value) {
    if (value.IsScalar()) return {false, {value.Scalar()}};
    if (!value.IsSequence()) throw InputError("a value or a list of values is needed");
    ConfigText text{true, {}};
    for (const auto& item : value) {
      if (!item.IsScalar()) throw InputError("a list may hold only plain values");
      text.items.push_back(item.Scalar());
    }
    return text;
  }

  std::string place(const YAML::Node& node) const {
    return fmt::format("{}:{}", source_, node.Mark().line + 1);
  }

  ConfigFields& fields_;
  std::string source_;
};

ConfigField* ConfigFields::find(const std::string& key) {
  return const_cast<ConfigField*>(std::as_const(*this).find(key));
}

const ConfigField* ConfigFields::find(const std::string& key) const {
  const auto found = std::find_if(fields_.begin(), fields_.end(),
                                  [&](const ConfigField& field) { return field.key == key; });
  return found == fields_.end() ? nullptr : &*found;
}

bool ConfigFields::is_section(const std::string& key) const {
  return std::any_of(sections_.begin(), sections_.end(),
                     [&](const auto& section) { return section.first == key; });
}

void ConfigFields::unknown(const std::string& key) const {
  std::vector<std::string> known;
  for (const auto& field : fields_) known.push_back(field.key);
  for (const auto& section : sections_) known.push_back(section.first);
  const auto nearest = nearest_word(key, known);
  if (nearest) throw InputError("unknown key '{}'; did you mean '{}'?", key, *nearest);
  std::string section = internal::section_of(key);
  while (!section.empty() && !is_section(section)) section = internal::section_of(section);
  std::erase_if(known,
                [&](const std::string& name) { return internal::section_of(name) != section; });
  throw InputError("unknown key '{}'; known are {}; leave it out if an older version had it", key,
                   fmt::join(known, ", "));
}

void ConfigFields::load_file(const std::string& path) { load_text(read_file(path), path); }

void ConfigFields::load_text(const std::string& yaml, const std::string& source) {
  YAML::Node root;
  try {
    root = YAML::Load(yaml);
  } catch (const YAML::Exception& error) {
    throw InputError("{}:{}: not valid YAML: {}", source, error.mark.line + 1, error.msg);
  }
  if (!root.IsNull()) ConfigLoader(*this, source).load(root, "");
}

void ConfigFields::set(const std::string& assignment) {
  const size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0)
    throw InputError("--set {}: give key=value", assignment);
  with_context("--set " + assignment,
               [&] { set_value(assignment.substr(0, equals), assignment.substr(equals + 1)); });
}

void ConfigFields::set_value(const std::string& key, const std::string& value) {
  if (is_section(key)) throw InputError("'{}' is a section; set one of its keys", key);
  ConfigField* field = find(key);
  if (field == nullptr) unknown(key);
  with_context(key, [&] { field->set({false, {value}}); });
}

namespace {

void emit_item(YAML::Emitter& out, const ConfigField& field, const std::string& item) {
  if (field.quoted) out << YAML::DoubleQuoted;
  out << item;
}

void emit_value(YAML::Emitter& out, const ConfigField& field) {
  const ConfigText text = field.get();
  if (!text.list) return emit_item(out, field, text.items[0]);
  out << YAML::Flow << YAML::BeginSeq;
  for (const std::string& item : text.items) emit_item(out, field, item);
  out << YAML::EndSeq;
}

std::vector<std::string> split_key(const std::string& key) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= key.size();) {
    const size_t dot = std::min(key.find('.', begin), key.size());
    parts.push_back(key.substr(begin, dot - begin));
    begin = dot + 1;
  }
  return parts;
}

}  // namespace

std::string ConfigFields::dump() const {
  YAML::Emitter out;
  out << YAML::BeginMap;
  std::vector<std::string> open;
  for (const ConfigField& field : fields_) {
    const std::vector<std::string> parts = split_key(field.key);
    const size_t depth = parts.size() - 1;
    size_t common = 0;
    while (common < std::min(depth, open.size()) && parts[common] == open[common]) ++common;
    for (; open.size() > common; open.pop_back()) out << YAML::EndMap;
    for (; open.size() < depth; open.push_back(parts[open.size()]))
      out << YAML::Key << parts[open.size()] << YAML::Value << YAML::BeginMap;
    out << YAML::Key << parts.back() << YAML::Value;
    emit_value(out, field);
  }
  for (; !open.empty(); open.pop_back()) out << YAML::EndMap;
  out << YAML::EndMap;
  return std::string(out.c_str()) + "\n";
}

std::string ConfigFields::help() const {
  std::string text;
  for (const ConfigField& field : fields_) {
    const ConfigText value = field.get();
    const std::string shown =
        value.list ? fmt::format("[{}]", fmt::join(value.items, ", ")) : value.items[0];
    text += fmt::format("  {} = {}  ({})\n      {}\n", field.key, shown, field.type, field.help);
  }
  return text;
}

}  // namespace reverie
