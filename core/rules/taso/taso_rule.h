#pragma once

#include <compare>
#include <map>
#include <string>
#include <vector>

namespace reverie {

/// A tensor of one side of a rule: output `output` of operator `op` of that side, or, where `op` is
/// negative, the pattern's external input of that number (the same tensor on both sides).
struct TasoTensor {
  int op = 0;
  int output = 0;
  auto operator<=>(const TasoTensor&) const = default;
};

/// Types of operators by their numbers in the file.
namespace taso_op {
inline constexpr int kConv = 3;
inline constexpr int kRelu = 8;
inline constexpr int kSigmoid = 9;
inline constexpr int kTanh = 10;
inline constexpr int kConcat = 12;
inline constexpr int kSplit = 13;
inline constexpr int kAdd = 16;
inline constexpr int kMul = 17;
inline constexpr int kMatMul = 18;
}  // namespace taso_op

/// Keys of parameters by their numbers in the file.
namespace taso_key {
inline constexpr int kInputs = 1;
inline constexpr int kOutputs = 2;
inline constexpr int kGroup = 3;
inline constexpr int kKernelHeight = 4;
inline constexpr int kKernelWidth = 5;
inline constexpr int kStrideHeight = 6;
inline constexpr int kStrideWidth = 7;
inline constexpr int kPadding = 8;  ///< 0 same, 1 valid
inline constexpr int kActivation = 9;  ///< 0 none, 1 sigmoid, 2 relu, 3 tanh
inline constexpr int kRank = 10;
inline constexpr int kAxis = 11;
}  // namespace taso_key

struct TasoOp {
  int type = 0;
  std::vector<TasoTensor> inputs;
  std::map<int, int> parameters;

  /// `fallback` where the file says nothing.
  int parameter(int key, int fallback) const {
    const auto at = parameters.find(key);
    return at == parameters.end() ? fallback : at->second;
  }
  int outputs() const {
    return type == taso_op::kSplit ? parameter(taso_key::kOutputs, 1) : 1;
  }
};

/// Uses of `source` become uses of `target`.
struct TasoOutput {
  TasoTensor source;
  TasoTensor target;
};

/// A substitution as TASO (Jia et al., SOSP 2019) writes it: operators in topological order, with the
/// numbers of the file. Conditions that the file does not state are those of the operators there:
/// operands of Add and Mul have equal shapes, those of MatMul equal ranks and batch extents; the
/// kernel of a convolution has any extent, and the number of its groups, if it is not stated, is that
/// of the input's channels over the filter's; Split parts a tensor where it was joined by Concat.
struct TasoRule {
  std::vector<TasoOp> source;
  std::vector<TasoOp> target;
  std::vector<TasoOutput> outputs;
};

/// The rules of a protobuf file, message GraphSubst.RuleCollection. InputError where it is none, or
/// where a tensor or output refers to nothing.
std::vector<TasoRule> read_taso_rules(const std::string& path);
void write_taso_rules(const std::vector<TasoRule>& rules, const std::string& path);

}  // namespace reverie
