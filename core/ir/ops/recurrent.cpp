#include <array>

#include "core/base/error.h"
#include "core/ir/ops/common.h"
#include "core/ir/ops/range.h"

namespace reverie::ops {
namespace {

enum : size_t { kX, kWeights, kRecurrence, kBias, kLengths, kHidden, kCell, kPeepholes };

/// What tells LSTM, GRU and RNN apart.
struct Kind {
  std::string name;
  int64_t gates;
  int inputs;
  int states;                            ///< that each step hands to the next
  std::vector<std::string> activations;  ///< of one direction
};

int64_t directions_of(const Attributes& attributes) {
  const std::string& direction = attributes.text("direction");
  if (direction == "forward" || direction == "reverse") return 1;
  if (direction == "bidirectional") return 2;
  throw InputError("direction '{}' is none of forward, reverse, bidirectional", direction);
}

std::vector<std::string> usual_activations(const Kind& kind, int64_t directions) {
  std::vector<std::string> result;
  for (int64_t i = 0; i < directions; ++i)
    result.insert(result.end(), kind.activations.begin(), kind.activations.end());
  return result;
}

void require_activations(const Kind& kind, const Attributes& attributes, int64_t directions) {
  const AttrValue* given = attributes.find("activations");
  if (given == nullptr) return;
  const auto* names = std::get_if<std::vector<std::string>>(given);
  if (names == nullptr || names->size() != usual_activations(kind, directions).size())
    throw InputError("needs {} activations a direction", kind.activations.size());
  for (const std::string& name : *names)
    if (name != "Sigmoid" && name != "Tanh" && name != "Relu")
      throw InputError("activation '{}' is none of Sigmoid, Tanh, Relu", name);
}

/// Extents of a recurrence. With layout 1 the first two of `x` change places, and of the states.
struct Extents {
  int64_t steps, batch, inputs, hidden, directions;
  bool batch_first;

  Shape state() const {
    return batch_first ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden};
  }
  Shape sequence() const {
    return batch_first ? Shape{batch, steps, directions, hidden}
                       : Shape{steps, directions, batch, hidden};
  }
};

Extents extents_of(const OpContext& node) {
  const TensorType& x = node.inputs[kX];
  const TensorType& recurrence = node.inputs[kRecurrence];
  if (x.rank() != 3 || recurrence.rank() != 3)
    throw InputError("needs a batch of sequences of vectors and a recurrence of rank 3");
  const bool batch_first = node.attributes.integer("layout") != 0;
  return {x.shape[batch_first ? 1 : 0], x.shape[batch_first ? 0 : 1],   x.shape[2],
          recurrence.shape[2],          directions_of(node.attributes), batch_first};
}

Types infer_recurrent(const Kind& kind, const OpContext& node) {
  const Extents e = extents_of(node);
  const DType dtype = node.inputs[kX].dtype;
  const int64_t rows = kind.gates * e.hidden;
  require_floating(node.inputs[kX]);
  require_activations(kind, node.attributes, e.directions);
  if (node.attributes.integer("hidden_size", e.hidden) != e.hidden)
    throw InputError("hidden_size differs from the recurrence's {}", e.hidden);
  const std::array<Shape, 8> shapes = {node.inputs[kX].shape,
                                       Shape{e.directions, rows, e.inputs},
                                       Shape{e.directions, rows, e.hidden},
                                       Shape{e.directions, 2 * rows},
                                       Shape{e.batch},
                                       e.state(),
                                       e.state(),
                                       Shape{e.directions, 3 * e.hidden}};
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    if (!node.has_input(i)) continue;
    require_shape(node.inputs[i], shapes[i], "an input");
    if (i == kLengths ? is_floating(node.inputs[i].dtype) : node.inputs[i].dtype != dtype)
      throw InputError("input {} cannot be {}", i, name_of(node.inputs[i].dtype));
  }
  Types results = {{dtype, e.sequence()}};
  results.resize(static_cast<size_t>(1 + kind.states), {dtype, e.state()});
  return results;
}

OpSchema recurrent_row(const Kind& kind, std::vector<AttrSpec> own = {}) {
  OpSchema row;
  row.name = kind.name;
  row.range = range::finite;
  row.min_inputs = 3;
  row.max_inputs = kind.inputs;
  row.min_outputs = row.max_outputs = 1 + kind.states;
  row.attributes = {{.name = "direction", .fallback = std::string("forward")},
                    {.name = "layout", .fallback = int64_t{0}},
                    optional("hidden_size"),
                    optional("activations")};
  row.attributes.insert(row.attributes.end(), own.begin(), own.end());
  row.normalize = [kind](Attributes& attributes, std::span<const TensorType> inputs) {
    if (inputs[kRecurrence].rank() == 3)
      set_if_absent(attributes, "hidden_size", inputs[kRecurrence].shape[2]);
    const AttrValue* given = attributes.find("activations");
    if (given != nullptr && *given == AttrValue(usual_activations(kind, directions_of(attributes))))
      attributes.erase("activations");
  };
  row.infer = [kind](const OpContext& node) { return infer_recurrent(kind, node); };
  // The products; a sum, an activation and a multiplication for each element of a gate.
  row.flops = [kind](const OpContext& node) {
    const Extents e = extents_of(node);
    const int64_t elements = e.directions * e.steps * e.batch * kind.gates * e.hidden;
    return elements * (2 * (e.inputs + e.hidden) + 3);
  };
  return row;
}

}  // namespace

std::vector<OpSchema> recurrent() {
  const std::string sigmoid = "Sigmoid", tanh = "Tanh";
  return {recurrent_row({"LSTM", 4, 8, 2, {sigmoid, tanh, tanh}}),
          recurrent_row({"GRU", 3, 6, 1, {sigmoid, tanh}},
                        {{.name = "linear_before_reset", .fallback = int64_t{0}}}),
          recurrent_row({"RNN", 1, 6, 1, {tanh}})};
}

}  // namespace reverie::ops
