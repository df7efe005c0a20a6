#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ir/attributes.h"
#include "core/ir/types.h"

namespace reverie {

enum class ValueRange : uint8_t;
struct RangeContext;

/// What shape inference and costs see of a node: types and attributes, no graph.
struct OpContext {
  /// An absent optional input has a type with known() == false.
  std::span<const TensorType> inputs;
  /// Filled in for `flops` and `bytes`, empty for `infer`.
  std::span<const TensorType> outputs;
  const Attributes& attributes;

  bool has_input(size_t index) const { return index < inputs.size() && inputs[index].known(); }
};

struct AttrSpec {
  std::string name;
  /// Absent: the attribute is required, or optional without a fixed default when `optional` is set
  /// (`normalize` may fill it in).
  std::optional<AttrValue> fallback;
  bool optional = false;
};

/// One row per operator. Operators follow ONNX at opset 17, with three differences that make
/// graphs easier to match, all undone at export:
///  - inputs that ONNX wants as constant tensors but that shape the result are attributes: `shape`
///    of Reshape and Expand, `axes` of Squeeze, Unsqueeze and the reductions, `starts, ends, axes,
///    steps` of Slice, `pads` and `value` of Pad, `split` of Split, `min` and `max` of Clip,
///    `repeats` of Tile, `scales` or `sizes` of Resize, `axis` of CumSum, `k` of TopK and Trilu,
///    `depth` of OneHot, whose inputs are (indices, values);
///  - Conv(x, w, [b], [residual]), MatMul(a, b, [bias], [residual]) and Gemm(a, b, [c],
///    [residual]) take a residual that is added to the result and an attribute `activation`
///    ("none", "relu", "sigmoid", "tanh"), applied last. A bias of MatMul or Gemm broadcasts to the
///    result; a residual has the type of the result;
///  - attributes are explicit and normal: axes count from the front and ascend, `perm`, `strides`,
///    `pads`, `dilations` and `axes` are filled in, Reshape's and Expand's `shape` is the result's,
///    `auto_pad` is resolved into `pads`, Slice's ranges are clamped, Conv's `kernel_shape` is the
///    filter's and no attribute. `normalize` does what depends on the inputs' types alone.
///
/// Only what inference needs in a deployed model is there: BatchNormalization, LayerNormalization,
/// MaxPool and Dropout have one output, Min and Max take two inputs. Further conventions: Cast's
/// `to` and ConstantOfShape's `dtype` are names of element types ("float32"), ConstantOfShape's
/// `value` is a number, Split's `split` is required. Upsample is Resize.
struct OpSchema {
  std::string name;
  /// Row number in the table; a stable index for features and matching within one build.
  int id = -1;
  int min_inputs = 0;
  int max_inputs = 0;  ///< kVariadic where unbounded
  int min_outputs = 1;
  int max_outputs = 1;
  std::vector<AttrSpec> attributes;
  /// Brings complete attributes into the canonical form, given the inputs' types (all required ones
  /// known); doing it twice changes nothing. Empty: nothing to do. InputError as for `infer`.
  std::function<void(Attributes&, std::span<const TensorType>)> normalize;
  /// Output types from input types and canonical attributes, at every sample (core/ir/types.h).
  /// InputError says what does not fit.
  std::function<std::vector<TensorType>(const OpContext&)> infer;
  /// Floating-point operations (a multiply-add counts two); 0 for movement of data.
  std::function<int64_t(const OpContext&)> flops;
  /// Bytes read and written; empty: all inputs and outputs once.
  std::function<int64_t(const OpContext&)> bytes;
  /// Whether a change of a floating-point input as small as rounding makes, or an overflow, can
  /// change a result by a whole step: it is cut off, compared, ordered, or asked what it is. What
  /// is computed from integers alone never is. Empty: no.
  std::function<bool(const OpContext&)> steps;
  /// What is known of the values of its results, floats that are computed from finite ones
  /// (core/ir/value_range.h). Absent: nothing.
  ValueRange (*range)(const RangeContext&) = nullptr;
  bool elementwise = false;  ///< every output element depends on the matching input elements only
  /// Every element of its results is one of its first input's (Concat: of any input's) as it is, or
  /// given by attributes; no float decides which.
  bool moves = false;
  bool commutative = false;  ///< its two inputs may change places
  bool view = false;  ///< the same data under another type of equal size: no kernel, no bytes
  /// It is no work on constants even where all its inputs are constants, so nothing folds it, and
  /// no rule takes its result for a weight. DequantizeLinear: a runtime fuses it with what follows,
  /// and its result is four times larger than what it is made from.
  bool keeps_constants = false;
  /// The values of its inputs decide the output's shape (ConstantOfShape, Range, NonZero). It can
  /// only be evaluated on known tensors; `infer` refuses it, so that it is a node of no graph.
  bool value_shaped = false;
  /// Stands for several operators that run as one kernel. It is made on the way to a device alone
  /// (core/exec/device/fuse.h): no file, rule or environment has it.
  bool fused = false;

  static constexpr int kVariadic = 1 << 20;

  /// With defaults filled in for absent attributes, integers made numbers where the default is a
  /// number, and every name checked. InputError names an unknown or missing attribute.
  Attributes complete(Attributes attributes) const;
  /// `complete`, then `normalize`: what a node of a graph holds. At every sample (core/ir/types.h).
  Attributes resolve(Attributes attributes, std::span<const TensorType> inputs) const;
  bool is(std::string_view other) const { return name == other; }
};

/// The row of that name; nullptr when the table has none.
const OpSchema* find_op(std::string_view name);
/// The same; InternalError when the table has none.
const OpSchema& op_named(std::string_view name);
/// All rows, by id.
std::span<const OpSchema> all_ops();

// Rows that the IR itself treats specially.
/// A graph input; no inputs, one output; attribute `name`.
const OpSchema& input_op();
/// A weight or other constant; no inputs, one output; the node holds a Weight.
const OpSchema& constant_op();
/// Any node that the table does not describe; carried through untouched. Attributes: `op`,
/// `domain`, `proto` (serialised NodeProto), `opsets` (those that give it its meaning: for the
/// standard domain the oldest at which its operators are what they are, "ai.onnx 13, com.microsoft
/// 1").
const OpSchema& opaque_op();

}  // namespace reverie
