#pragma once

#include <array>
#include <cstdint>
#include <variant>
#include <vector>

#include "core/exec/device/functions.h"
#include "core/ir/types.h"

/// What a device can be asked to do. A call is plain data, complete by itself: extents and
/// distances, no graph. All tensors are row-major and dense but where distances are given;
/// distances count elements. A call reads some pieces of memory and writes others, in the order
/// stated with it. Floating elements are float32, float16 or bfloat16; sums are held in float32.
namespace reverie::device {

using Strides = std::vector<int64_t>;

/// Axes that an Elementwise, Pointwise, Movement or Reduction call has at most.
inline constexpr int kMaxAxes = 6;
/// Operands and instructions that a Pointwise call has at most.
inline constexpr int kMaxPointwiseOperands = 8;
inline constexpr int kMaxInstructions = 24;

/// Operands, and so reads, of a function: 1, 2, 3 or 5.
int operands_of(Function function);

/// An operand as it is read: 0 along an axis reads the same element again and again.
struct Operand {
  DType dtype = DType::kFloat32;
  Strides strides = {};
};

/// Computes every element of a dense result by itself. Reads the operands, writes the result.
/// Operands and result are floating, bool, int32 or int64; between integers only kIdentity, kRelu,
/// kNeg, kAbs, kAdd, kSub, kMul, kMin, kMax, comparisons and kWhere.
struct Elementwise {
  Function function = Function::kIdentity;
  double alpha = 0, beta = 0;
  Activation activation = Activation::kNone;
  DType result = DType::kFloat32;
  Shape shape = {};
  std::vector<Operand> operands = {};
};

/// A step of a Pointwise call. Its arguments are registers: the operands have the first ones, the
/// result of each instruction the next.
struct Instruction {
  Function function = Function::kIdentity;  ///< of at most three operands
  double alpha = 0, beta = 0;
  std::array<int, 3> arguments{0, 0, 0};
};

/// Computes every element of a dense result by itself, by instructions of which the last one's
/// result is written; what is in between is float32. Reads the operands, writes the result, all
/// floating and of one type.
struct Pointwise {
  DType dtype = DType::kFloat32;
  Shape shape = {};
  std::vector<Strides> operands = {};
  std::vector<Instruction> instructions = {};
};

/// A part of a Movement: elements of one piece of memory go to another.
struct Piece {
  int read = 0;  ///< which of the pieces of memory read, and of those written
  int write = 0;
  Shape shape = {};
  int64_t source = 0, target = 0;  ///< offsets in elements
  Strides source_strides = {}, target_strides = {};
};

/// Moves elements of 1, 2, 4 or 8 bytes. Pieces do not overlap.
struct Movement {
  int64_t element_bytes = 4;
  int reads = 1;
  int writes = 1;
  std::vector<Piece> pieces = {};
};

/// Writes the same element everywhere.
struct Fill {
  DType dtype = DType::kFloat32;
  double value = 0;
  int64_t elements = 0;
};

/// Rows of a table by number: of outer x extent x inner bytes, outer x count x inner. Reads the
/// table and the indices (int32 or int64; negative ones count from the end), writes the result. An
/// index out of range is reported when the device synchronizes.
struct Gather {
  int64_t outer = 1, extent = 1, count = 1, inner_bytes = 4;
  DType indices = DType::kInt64;
};

/// activation(alpha a b + bias + residual), for each of `batches`: a is rows x inner, b inner x
/// columns, both the other way round in memory where transposed. Reads a, b, the bias where there
/// is one (one element per column), the residual where there is one (like the result); writes the
/// result.
struct Product {
  DType dtype = DType::kFloat32;
  int64_t batches = 1, rows = 1, columns = 1, inner = 1;
  int64_t a_stride = 0, b_stride = 0;  ///< between batches; 0: the same for all
  bool a_transposed = false, b_transposed = false;
  double alpha = 1;
  bool has_bias = false, has_residual = false;
  Activation activation = Activation::kNone;
};

using Extents = std::array<int64_t, 3>;

/// A window that slides over three spatial axes; images with fewer have leading ones.
struct Window {
  Extents in{1, 1, 1}, out{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1};
  Extents before{0, 0, 0}, after{0, 0, 0};  ///< pads
};

/// activation(filter * x + bias + residual). x is batch x channels x in, the filter filters x
/// channels / groups x kernel, the result batch x filters x out. Reads x, the filter, the bias (one
/// element per filter) and the residual (like the result) where there are such; writes the result.
struct Convolution {
  DType dtype = DType::kFloat32;
  int64_t batch = 1, channels = 1, filters = 1, groups = 1;
  Window window;
  bool has_bias = false, has_residual = false;
  Activation activation = Activation::kNone;
};

enum class Pool : uint8_t {
  kMax,
  kAverage,        ///< over what lies within the image
  kAveragePadded,  ///< over what lies within the padded image
};

/// Of planes x in, planes x out.
struct Pooling {
  DType dtype = DType::kFloat32;
  Pool kind = Pool::kMax;
  int64_t planes = 1;
  Window window;
};

/// Along the middle axis of outer x extent x inner.
struct Softmax {
  DType dtype = DType::kFloat32;
  int64_t outer = 1, extent = 1, inner = 1;
};

/// (x - mean) / sqrt(variance + epsilon) scale + shift for each of `rows`; scale, shift and bias
/// are one row. x is the sum of what is read first, the residual and the bias. Reads that, the
/// scale and, where there are such, the shift, the residual (like x) and the bias. Writes the
/// result and, if so asked, x.
struct LayerNormalization {
  DType dtype = DType::kFloat32;
  int64_t rows = 1, width = 1;
  double epsilon = 0;
  bool has_shift = false, has_residual = false, has_bias = false;
  bool writes_sum = false;
};

enum class Reduce : uint8_t { kMean, kSum, kMax, kMin };

/// Result i, of shape `kept` and dense, is over all elements at i kept_strides + j reduced_strides.
struct Reduction {
  DType dtype = DType::kFloat32;
  Reduce kind = Reduce::kMean;
  Shape kept = {}, reduced = {};
  Strides kept_strides = {}, reduced_strides = {};
};

/// Most columns of q and of v that an Attention call takes.
inline constexpr int64_t kMostHeadColumns = 128;

/// How far apart neighbours of an operand lie along outer, heads, rows and columns.
using HeadStrides = std::array<int64_t, 4>;

/// softmax(scale q k' + mask) v for each of outer x heads; q is queries x depth, k keys x depth, v
/// keys x width, the mask queries x keys, the result queries x width. Reads q, k, v and the mask
/// where there is one, in which strides can be 0; writes the result. There are keys.
struct Attention {
  DType dtype = DType::kFloat32;
  int64_t outer = 1, heads = 1, queries = 1, keys = 1;
  int64_t depth = 1, width = 1;  ///< at most kMostHeadColumns
  double scale = 1;
  bool has_mask = false;
  HeadStrides q{}, k{}, v{}, mask{}, result{};
};

using Call = std::variant<Elementwise, Pointwise, Movement, Fill, Gather, Product, Convolution,
                          Pooling, Softmax, LayerNormalization, Reduction, Attention>;

}  // namespace reverie::device
