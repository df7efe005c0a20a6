#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/stop.h"
#include "core/rulekit/taso/taso_rule.h"

namespace reverie {

struct GenerateOptions {
  int depth = 3;                   ///< most operators on a side, 1 to 4
  std::string operators = "taso";  ///< or "all", or names separated by commas
  uint64_t seed = 1;
  int threads = 1;  ///< no effect on the result
  /// Told of each rule when it is found, with its number in the result.
  std::function<void(size_t number, const TasoRule& rule)> found;
  /// Whether the rule of that number, which was found, is sound as it stands. What follows from an
  /// identity is left out only where that is a rule which is accepted, in one direction at least.
  /// Without this function every rule is.
  std::function<bool(size_t number, const TasoRule& rule)> accepts;
  /// Where the last level's state is kept now and then and after a stop, to go on from; empty:
  /// nowhere.
  std::string checkpoint;
};

struct GenerateCounts {
  uint64_t graphs = 0;      ///< graphs evaluated
  uint64_t values = 0;      ///< distinct values among them
  uint64_t pairs = 0;       ///< graphs with the value of an earlier one
  uint64_t renamed = 0;     ///< pairs that are others with their inputs renamed
  uint64_t follows = 0;     ///< instances of what is accepted, or chains of them
  uint64_t unequal = 0;     ///< pairs that differ on fresh inputs or other extents
  uint64_t repeated = 0;    ///< the same as one kept, made more general
  uint64_t identities = 0;  ///< kept
  uint64_t narrow = 0;  ///< of which hold only for some extents of kernels: no rule can say that
  bool operator==(const GenerateCounts&) const = default;
};

struct GenerateResult {
  /// Every kept identity that is not narrow in the directions in which it is a rule: the target
  /// reads nothing that the source does not read, and the source has operators.
  std::vector<TasoRule> rules;
  GenerateCounts counts;
  bool complete = true;  ///< false after a stop, which leaves the checkpoint
};

/// Substitutions between graphs of at most `depth` operators. Every graph over a few inputs whose
/// parts are first graphs of their values is evaluated on random inputs over the field of 2^61 - 1
/// elements: matrix products, convolutions and other polynomial operators exactly; relu, sigmoid,
/// tanh and the quotient's divisor by random functions of an element (relu leaves its own results
/// as they are; the divisor's is multiplicative), a maximum over a window and softmax along a row
/// by random functions that take the others in any order. Graphs with equal results are compared on
/// fresh inputs of several extents, and made as general as both sides allow (parts in common become
/// inputs, inputs split by their uses). What follows from identities of smaller or more general
/// graphs is left out. Two outputs: parts of a Split that graphs without it compute. The same
/// options give the same rules on any number of threads, interrupted or not.
GenerateResult generate_rules(
    const GenerateOptions& options, const StopToken& stop = {},
    const std::function<void(const std::string& what, int64_t done, int64_t total)>& progress = {});

/// The command that generates these rules and what it went through, as comments for a rule file.
std::string description(const GenerateOptions& options, const GenerateCounts& counts);

}  // namespace reverie
