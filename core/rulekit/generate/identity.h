#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/rulekit/generate/values.h"
#include "core/rulekit/taso/taso_rule.h"

namespace reverie::generate {

/// Graphs of operators over variables that compute the same, output by output.
struct Identity {
  struct Node {
    int op = -1;  ///< index into the operators; -1: a variable
    int a = -1, b = -1;
    int variable = -1;
    bool operator==(const Node&) const = default;
  };
  std::vector<Node> nodes;
  std::vector<int> left, right;  ///< nodes
  int variables = 0;
  bool is_sayable = true;   ///< false: it holds only for some extents of kernels
  bool is_accepted = true;  ///< false: nothing is taken to follow from it

  bool operator==(const Identity&) const = default;
  /// Whether the right side reads only what the left side reads, and the left side computes
  /// something.
  bool is_rule() const;
  Identity reversed() const;
};

/// Builds and tests identities between graphs of a table's values.
class IdentityMaker {
 public:
  /// `most_operators` on a side; `seed` is of the fresh random inputs.
  IdentityMaker(const ValueTable& values, int most_operators, uint64_t seed);

  /// A graph each for the left and the right outputs.
  Identity make(const std::vector<Application>& left, const std::vector<Application>& right);
  /// Whether both sides agree on fresh random inputs, also of other extents. Only for the identity
  /// that `make` returned last and what `generalised` made of it.
  bool holds(const Identity& identity) const;
  /// Whether both sides agree, where they are well-formed, when the kernels have other extents than
  /// in the enumeration; a rule cannot say what a kernel's extents are. For the same identities.
  bool holds_for_all_kernels(const Identity& identity) const;
  /// With parts that both sides have in common replaced by variables, and a variable per group of
  /// its uses, wherever the two sides still agree.
  Identity generalised(Identity identity);

 private:
  struct Tensor {
    Extents extents;
    std::vector<uint64_t> content;
  };
  using Results = std::vector<std::optional<Tensor>>;

  int add(const Application& application, Identity& identity);
  int add_variable(Identity& identity);
  bool compute(const Identity& identity, int node, size_t world, uint64_t draw,
               Results& results) const;
  /// Nothing where an operator does not take its operands.
  std::optional<bool> agree(const Identity& identity, size_t world, uint64_t draw) const;
  int operators_in(const Identity& identity, const std::vector<int>& roots) const;
  bool replace_common(Identity& identity);
  bool split_variable(Identity& identity);

  const ValueTable& values_;
  int most_operators_;
  std::vector<World> worlds_;
  /// By world and variable.
  std::vector<std::vector<Extents>> extents_;
  std::vector<std::pair<ValueId, int>> inputs_;  ///< and their nodes
};

/// In TASO's terms, with the inputs in the order of their first use.
TasoRule to_taso(const Identity& identity, const std::vector<Operator>& operators);

}  // namespace reverie::generate
