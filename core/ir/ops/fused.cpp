#include <algorithm>

#include "core/base/error.h"
#include "core/ir/ops/common.h"
#include "core/ir/pointwise.h"

/// What stands for several operators that run as one kernel (core/exec/device/fuse.h).
namespace reverie::ops {
namespace {

Graph program_of(const OpContext& node) {
  return pointwise_graph(node.attributes.text("program"), node.inputs);
}

OpSchema pointwise() {
  OpSchema row;
  row.name = "Pointwise";
  row.min_inputs = 1;
  row.max_inputs = OpSchema::kVariadic;
  row.attributes = {required("program")};
  row.elementwise = true;
  row.fused = true;
  row.infer = [](const OpContext& node) {
    for (const TensorType& type : node.inputs) require_floating(type);
    const Graph program = program_of(node);
    return Types{program.type(program.outputs()[0].value)};
  };
  row.flops = [](const OpContext& node) {
    const Graph program = program_of(node);
    int64_t total = 0;
    for (const NodeId step : program.nodes()) total += flops(program, step);
    return total;
  };
  row.steps = [](const OpContext& node) {
    const Graph program = program_of(node);
    return std::ranges::any_of(program.nodes(),
                               [&](NodeId step) { return is_step(program, step); });
  };
  return row;
}

/// What fused_attention takes, its axes in the order in which it is multiplied.
struct HeadMajor {
  Shape q, k, v;  ///< [..., queries, depth], [..., depth, keys], [..., keys, width]

  explicit HeadMajor(const OpContext& node)
      : q(permuted(node.inputs[0].shape, node.attributes.integers("q_perm"))),
        k(permuted(node.inputs[1].shape, node.attributes.integers("k_perm"))),
        v(permuted(node.inputs[2].shape, node.attributes.integers("v_perm"))) {}

  Shape with(int64_t last) const {
    Shape shape = q;
    shape.back() = last;
    return shape;
  }
};

void require_factors(const HeadMajor& shapes) {
  const auto [q, k, v] = shapes;
  const size_t rank = q.size();
  const bool fits = rank >= 2 && k.size() == rank && v.size() == rank &&
                    std::equal(q.begin(), q.end() - 2, k.begin()) &&
                    std::equal(q.begin(), q.end() - 2, v.begin()) && k[rank - 2] == q[rank - 1] &&
                    v[rank - 2] == k[rank - 1];
  if (!fits)
    throw InputError("{}, {} and {} cannot be multiplied", to_string(q), to_string(k),
                     to_string(v));
}

/// (q, k, v, mask): softmax(scale q k + mask) v, where q is [..., queries, depth] once its axes are
/// in the order q_perm, likewise k [..., depth, keys] and v [..., keys, width]; the axes of the
/// result are then put in the order perm. The mask, which may be absent, broadcasts to [...,
/// queries, keys].
OpSchema fused_attention() {
  OpSchema row;
  row.name = "FusedAttention";
  row.min_inputs = 3;
  row.max_inputs = 4;
  row.attributes = {number("scale", 1.0), required("q_perm"), required("k_perm"),
                    required("v_perm"), required("perm")};
  row.fused = true;
  row.infer = [](const OpContext& node) {
    require_same_dtype(node);
    require_floating(node.inputs[0]);
    const HeadMajor shapes(node);
    require_factors(shapes);
    if (node.has_input(3))
      require_broadcasts_to(node.inputs[3], shapes.with(shapes.k.back()), "the mask");
    return Types{{node.inputs[0].dtype,
                  permuted(shapes.with(shapes.v.back()), node.attributes.integers("perm"))}};
  };
  row.flops = [](const OpContext& node) {
    const HeadMajor shapes(node);
    const int64_t scores = element_count(shapes.with(shapes.k.back()));
    return scores * (2 * shapes.q.back() + 2 * shapes.v.back() + 6 + (node.has_input(3) ? 1 : 0));
  };
  return row;
}

}  // namespace

std::vector<OpSchema> fused() { return {pointwise(), fused_attention()}; }

}  // namespace reverie::ops
