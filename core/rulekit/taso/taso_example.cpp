#include <fmt/ranges.h>

#include <set>

#include "core/rulekit/taso/operators.h"
#include "core/rulekit/taso/translate.h"

namespace reverie::taso {
namespace {

std::string content_of(const TasoOp& op) {
  if (op.type == taso_op::kOne) return "1";
  if (op.type != taso_op::kPoolKernel) return "identity";
  return fmt::format("{}", 1.0 / static_cast<double>(kernel_of(op)[0] * kernel_of(op)[1]));
}

}  // namespace

std::string example_text(const TasoRule& rule, const TasoLayout& layout,
                         const std::vector<int64_t>& values) {
  std::vector<std::string> parts;
  std::set<int> seen;
  for (const TasoOp& op : rule.source)
    for (const TasoTensor& input : op.inputs)
      if (input.op < 0 && seen.insert(input.op).second)
        parts.push_back(fmt::format("{}: [{}]", taso_name('s', input, 1),
                                    fmt::join(shape_of(layout.inputs.at(input.op), values), ", ")));
  for (int i = 0; i < static_cast<int>(rule.source.size()); ++i) {
    const TasoOp& op = rule.source[static_cast<size_t>(i)];
    const std::string name = taso_name('s', {i, 0}, op.outputs());
    if (taso_facts(op.type).constant()) {
      parts.push_back(fmt::format("{}: const [{}] = {}", name,
                                  fmt::join(shape_of(layout.source_tensor({i, 0}), values), ", "),
                                  content_of(op)));
    } else if (op.type == taso_op::kReshape) {
      parts.push_back(fmt::format("{}.shape = [{}]", name,
                                  fmt::join(shape_of(layout.source_tensor({i, 0}), values), ", ")));
    } else if (op.type == taso_op::kEnlarge) {
      const Shape w = shape_of(layout.source_tensor(op.inputs[0]), values);
      const auto [height, width] = kernel_of(op);
      const int64_t top = (height - 1) / 2 - (w[2] - 1) / 2;
      const int64_t left = (width - 1) / 2 - (w[3] - 1) / 2;
      parts.push_back(fmt::format("{}.pads = [0, 0, {}, {}, 0, 0, {}, {}]", name, top, left,
                                  height - w[2] - top, width - w[3] - left));
    } else if (op.type == taso_op::kConv) {
      const Shape x = shape_of(layout.source_tensor(op.inputs[0]), values);
      const Shape w = shape_of(layout.source_tensor(op.inputs[1]), values);
      parts.push_back(fmt::format("{0}.pads = [{1}, {2}, {3}, {4}], {0}.group = {5}", name,
                                  (w[2] - 1) / 2, (w[3] - 1) / 2, w[2] / 2, w[3] / 2, x[1] / w[1]));
    } else if (op.type == taso_op::kSplit) {
      std::vector<int64_t> sizes;
      for (const auto& part : layout.source[static_cast<size_t>(i)])
        sizes.push_back(
            shape_of(part, values)[static_cast<size_t>(op.parameter(taso_key::kAxis, 0))]);
      parts.push_back(fmt::format("{}.split = [{}]", name, fmt::join(sizes, ", ")));
    }
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace reverie::taso
