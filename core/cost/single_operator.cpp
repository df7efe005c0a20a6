#include "core/cost/single_operator.h"

#include <vector>

#include "core/exec/node_graph.h"
#include "core/ir/constant_inputs.h"

namespace reverie {

Graph single_operator(const OpSignature& signature) {
  std::vector<WeightPtr> constants(signature.inputs.size());
  for (size_t i = 0; i < constants.size(); ++i)
    if (is_constant_input(signature.constant_inputs, i))
      constants[i] =
          Weight::fill(signature.inputs[i], is_floating(signature.inputs[i].dtype) ? 2 : 0,
                       fmt::format("constant{}", i));
  return node_graph(*signature.op, signature.attributes, signature.inputs, signature.outputs,
                    constants);
}

}  // namespace reverie
