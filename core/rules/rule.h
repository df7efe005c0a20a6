#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/cost/cost_model.h"
#include "core/ir/graph.h"

namespace reverie {

struct RulePattern;  // what a rule says, as data: core/rules/pattern.h
struct Instance;     // a replacement with its attributes, types and costs: core/rules/instance.h

/// One substitution: where its source pattern occurs and its conditions hold, the target computes
/// the same. Immutable and shared. LANGUAGE.md describes the text form.
class Rule {
 public:
  explicit Rule(std::shared_ptr<const RulePattern> pattern) : pattern_(std::move(pattern)) {}

  const std::string& name() const;
  /// The text it was read from.
  const std::string& text() const;
  /// "FILE:LINE".
  const std::string& origin() const;
  const RulePattern& pattern() const { return *pattern_; }
  const std::shared_ptr<const RulePattern>& shared_pattern() const { return pattern_; }

 private:
  std::shared_ptr<const RulePattern> pattern_;
};

/// Rules in a fixed order; names are unique. A rule's index is its action in the environments.
class RuleSet {
 public:
  RuleSet() = default;

  /// The library that ships, embedded in the program.
  static const RuleSet& builtin();
  /// InputError with "NAME:LINE:COLUMN", what is wrong and what is expected.
  static RuleSet parse(std::string_view text, const std::string& name);
  /// The rules of a file. InputError also when it cannot be read.
  static RuleSet load(const std::string& path);
  /// Those of all these files, one after the other; the built-in rules where none is named.
  static RuleSet load_all(const std::vector<std::string>& paths);

  /// Appends a rule; InputError when its name is taken.
  void add(Rule rule);
  /// Appends all rules of another set.
  void append(const RuleSet& other);
  /// The rules of those names in that order; InputError names an unknown one.
  RuleSet subset(std::span<const std::string> names) const;

  /// Those that no pattern names: a rule, or with NAME* all that begin so. Patterns that name none
  /// go to `unused`.
  RuleSet without(const std::vector<std::string>& patterns,
                  std::vector<std::string>* unused = nullptr) const;

  int size() const { return static_cast<int>(rules_.size()); }
  const Rule& operator[](int rule) const { return rules_[static_cast<size_t>(rule)]; }
  const std::string& name(int rule) const { return (*this)[rule].name(); }
  /// -1 when there is none of that name.
  int find(std::string_view name) const;
  /// Depends on the rules' texts (comments, blanks and proofs aside) and their order.
  uint64_t fingerprint() const;

 private:
  std::vector<Rule> rules_;
};

/// What a source pattern stands for in one graph.
struct Binding {
  /// One node per source operator, in the order of the pattern.
  std::vector<NodeId> nodes;
  /// Values of the pattern's variables and operator outputs, one after another; an absent optional
  /// input is an invalid id.
  std::vector<ValueId> values;
  /// values[offsets[i]] .. values[offsets[i + 1] - 1] belong to pattern value i (sequences have any
  /// number of values, others one).
  std::vector<int32_t> offsets;
};

/// A place where a rule applies. Cheap to copy. Valid for the state that listed it until that state
/// commits; a copy of the state made before then accepts it too.
struct Match {
  int rule = -1;
  /// Where the state keeps it; not a canonical number.
  int32_t slot = -1;
  /// The producer of the first mapped output.
  NodeId root;
  std::shared_ptr<const Binding> binding;

  /// One node per source operator, in the order of the pattern.
  std::span<const NodeId> nodes() const { return binding->nodes; }
};

/// A proposed step: what leaves, what comes and what that changes. Small, holds no graph; valid for
/// the state that proposed it and its copies, until they commit another one.
struct Rewrite {
  Match match;
  /// Successor minus predecessor, exactly.
  Cost cost_delta;
  /// Difference of Graph::weight_bytes.
  int64_t weight_bytes_delta = 0;
  /// The nodes that come; shared by all matches that give equal ones.
  std::shared_ptr<const Instance> instance;
};

}  // namespace reverie
