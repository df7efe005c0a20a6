#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/rules/expression.h"
#include "core/rules/proof.h"

namespace reverie {

/// A tensor (or a sequence of tensors) that the source pattern names: a variable, which stands for
/// any value, or an output of a source operator.
struct PatternValue {
  std::string name;       ///< empty for the output of a nested operator
  int producer = -1;      ///< source operator; -1 for a variable
  bool sequence = false;  ///< any number of tensors, none included
  bool optional = false;  ///< a variable that may be absent
};

struct SourceOp {
  const OpSchema* op = nullptr;
  std::vector<int> inputs;   ///< pattern values
  std::vector<int> outputs;  ///< pattern values
  /// Attributes that must have these values.
  std::vector<std::pair<std::string, AttrValue>> attributes;
};

/// `variable >= 0`: the variable is given the expression's value, and the rule applies only where
/// there is one. Otherwise the expression must hold.
struct Condition {
  int variable = -1;
  Expr expr;
};

/// A tensor of the target: a pattern value, or what a target step makes.
struct TargetValue {
  bool source = false;
  int index = -1;
};

/// Makes one or more target values. Where something it needs is absent, its results are absent.
struct TargetStep {
  enum class Kind {
    kOperator,
    kElse,      ///< the first input, or the second one where the first is absent
    kFill,      ///< a constant: `arguments` are value, shape and dtype
    kIdentity,  ///< an identity matrix or convolution kernel: `arguments` are shape and dtype
  };
  Kind kind = Kind::kOperator;
  const OpSchema* op = nullptr;
  std::vector<TargetValue> inputs;
  std::vector<int> outputs;  ///< numbers of target values; a sequence where `sequence_output`
  int like = -1;             ///< source operator whose attributes are taken over
  std::vector<std::pair<std::string, Expr>> attributes;
  std::vector<Expr> arguments;
  /// One operator per element of its sequence inputs, which have equal lengths.
  bool map = false;
  /// The only output of the step is the sequence of all outputs of the operator.
  bool sequence_output = false;
};

/// Uses of a source operator's output become uses of a target value.
struct MappedOutput {
  int source = -1;  ///< pattern value
  TargetValue target;
};

/// A tensor with which to try a rule.
struct ExampleTensor {
  TensorType type;
  bool constant = false;
  bool filled = false;  ///< every element is `value`
  double value = 0;
  bool identity = false;  ///< an identity; neither: drawn at random
};

/// Tensors per variable and attributes per source operator, as many as are needed to build a graph
/// in which the source pattern stands.
struct RuleExample {
  std::map<int, std::vector<ExampleTensor>> tensors;
  std::map<int, std::vector<std::pair<std::string, AttrValue>>> attributes;
};

/// What a rule says, as data. Produced by the parser and by imports; `checked` before use.
struct RulePattern {
  std::string name;
  std::string text;
  std::string origin;

  std::vector<PatternValue> values;
  std::vector<SourceOp> source;
  std::vector<std::string> variables;
  std::vector<Condition> conditions;
  /// Matches on the same nodes are one match.
  bool symmetric = false;
  /// The source operators need not hang together through shared values.
  bool apart = false;

  std::vector<TargetStep> target;
  int target_values = 0;
  std::vector<MappedOutput> outputs;

  std::vector<RuleExample> examples;

  RuleProof proof;
  /// The part of `text` that states it: from the end of the line before it to that of its last
  /// line.
  size_t proof_begin = 0;
  size_t proof_end = 0;
};

}  // namespace reverie
