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

/// Types of operators: TASO's own numbers (`OpType` in its include/taso/ops.h), and from 1000 on
/// those of operators that it lacks. Axes count from the front. Same padding of a kernel of extent
/// k puts (k-1)/2, rounded down, in front and k/2 behind.
namespace taso_op {
inline constexpr int kConv = 3;     ///< x, filter; same padding, stride 1
inline constexpr int kMaxPool = 6;  ///< same padding (that never wins), stride 1
/// Same padding with noughts, which count: each element is the sum of its window over the kernel's
/// size, so that AvgPool is a convolution with the pooling kernel.
inline constexpr int kAvgPool = 7;
inline constexpr int kRelu = 8;
inline constexpr int kSigmoid = 9;
inline constexpr int kTanh = 10;
inline constexpr int kConcat = 12;
inline constexpr int kSplit = 13;
inline constexpr int kReshape = 14;  ///< dimensions kAxis and the next become one, row by row
inline constexpr int kTranspose =
    15;  ///< output dimension i is the input's dimension kPermutation[i]
inline constexpr int kAdd = 16;
inline constexpr int kMul = 17;
inline constexpr int kMatMul = 18;
inline constexpr int kScale = 19;  ///< a tensor of any rank times a scalar, a tensor of rank 0
/// A filter with noughts around, its last two extents becoming kKernelHeight and kKernelWidth, such
/// that a convolution with same padding stays what it was: in front (K-1)/2 - (k-1)/2, rounded
/// down.
inline constexpr int kEnlarge = 20;
inline constexpr int kIdentityMatrix = 22;  ///< no inputs, as the next three; [n, n]
/// [c, c, kh, kw]: one where both channels are equal and the window's centre (k-1)/2 is, else
/// nought.
inline constexpr int kIdentityConv = 23;
inline constexpr int kOne = 24;  ///< ones, of any shape; kRank where it is stated
/// [c, 1, kh, kw], each element 1/(kh*kw): as many groups as channels make it an average pool.
inline constexpr int kPoolKernel = 25;
inline constexpr int kSub = 28;
inline constexpr int kDiv = 29;
inline constexpr int kReduceSum = 41;  ///< over dimension kAxis; see kKeepDims
inline constexpr int kSoftmax = 1000;  ///< over dimension kAxis
}  // namespace taso_op

/// Keys of parameters (`PMParameter` there).
namespace taso_key {
inline constexpr int kInputs = 1;
inline constexpr int kOutputs = 2;
inline constexpr int kGroup = 3;
inline constexpr int kKernelHeight = 4;  ///< of convolutions, pools, Enlarge and the two kernels
inline constexpr int kKernelWidth = 5;
inline constexpr int kStrideHeight = 6;
inline constexpr int kStrideWidth = 7;
inline constexpr int kPadding = 8;     ///< 0 same, 1 valid
inline constexpr int kActivation = 9;  ///< 0 none, 1 sigmoid, 2 relu, 3 tanh
/// Dimensions of the operands. Where kAxis is used and this is not, the rank is left open.
inline constexpr int kRank = 10;
inline constexpr int kAxis = 11;  ///< of Concat, Split, Reshape, ReduceSum, Softmax
/// As one number with kRank digits of base kRank, the first dimension's the most significant.
inline constexpr int kPermutation = 12;
inline constexpr int kShuffle = 13;  ///< how TASO stores a transposed tensor; no part of its value
inline constexpr int kKeepDims =
    16;  ///< 1: ReduceSum leaves an extent of 1; 0: it drops the dimension
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
  int outputs() const { return type == taso_op::kSplit ? parameter(taso_key::kOutputs, 1) : 1; }
};

/// Uses of `source` become uses of `target`.
struct TasoOutput {
  TasoTensor source;
  TasoTensor target;
};

/// A substitution as TASO (Jia et al., SOSP 2019) writes it: operators in topological order, with
/// the numbers of the file. Conditions that the file does not state are those of the operators
/// there: operands of Add, Sub, Mul and Div have equal shapes, those of MatMul equal ranks and
/// batch extents; the kernel of a convolution has any extent, whatever the file states (those of
/// pools, Enlarge and constants are as stated), and the number of its groups, if it is not stated,
/// is that of the input's channels over the filter's; Split parts a tensor where it was joined by
/// Concat. Extents of constants are those that their users need.
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
