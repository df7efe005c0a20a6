#include <fmt/format.h>

#include <algorithm>

#include "core/base/json.h"
#include "core/cost/machine.h"
#include "core/exec/device/device_executor.h"
#include "core/exec/reference/reference.h"
#include "core/onnx/operator_opsets.h"
#include "core/rules/pattern.h"
#include "core/rules/rule.h"
#include "tools/inspect.h"

namespace reverie {
namespace {

/// Built-in rules that match the operator or make it.
int rules_with(const OpSchema& op) {
  const RuleSet& rules = RuleSet::builtin();
  int count = 0;
  for (int i = 0; i < rules.size(); ++i) {
    const RulePattern& pattern = rules[i].pattern();
    const auto is_it = [&](const auto& part) { return part.op == &op; };
    count +=
        std::ranges::any_of(pattern.source, is_it) || std::ranges::any_of(pattern.target, is_it);
  }
  return count;
}

constexpr char kLine[] = "{:<26} {:<26} {:>6} {:>9} {:>4} {:>5} {:>6}\n";

struct OperatorLine {
  std::string name;
  OperatorOpsets onnx;
  bool reference, cpu, cuda;
  int rules;
};

OperatorLine line_of(const OpSchema& op) {
  return {op.name,
          opsets_of(op),
          ReferenceExecutor::has_kernel(op),
          cpu_has_kernel(op),
          DeviceExecutor::has_kernel(op),
          rules_with(op)};
}

Json json_of(const OperatorLine& line) {
  return {{"name", line.name},
          {"onnx", line.onnx.names},
          {"oldest_opset", line.onnx.oldest},
          {"newest_opset", line.onnx.newest},
          {"reference", line.reference},
          {"cpu", line.cpu},
          {"cuda", line.cuda},
          {"rules", line.rules}};
}

std::string text_of(const OperatorLine& line) {
  const auto mark = [](bool has) { return has ? "yes" : "-"; };
  const std::string opsets =
      line.onnx.oldest == 0 ? "-" : fmt::format("{}-{}", line.onnx.oldest, line.onnx.newest);
  return fmt::format(kLine, line.name, fmt::format("{}", fmt::join(line.onnx.names, ", ")), opsets,
                     mark(line.reference), mark(line.cpu), mark(line.cuda), line.rules);
}

}  // namespace

std::string inspect_operators(bool json) {
  std::vector<OperatorLine> lines;
  for (const OpSchema& op : all_ops()) lines.push_back(line_of(op));
  std::ranges::sort(lines, {}, &OperatorLine::name);
  const OtherOperators others = other_operators();
  if (json) {
    Json::Array list;
    for (const OperatorLine& line : lines) list.push_back(json_of(line));
    return Json{{"kind", "operators"},
                {"operators", list},
                {"read_as_others", others.read},
                {"untouched", others.untouched}}
               .dump() +
           "\n";
  }
  std::string text =
      fmt::format(kLine, "operator", "in ONNX", "opsets", "reference", "cpu", "cuda", "rules");
  for (const OperatorLine& line : lines) text += text_of(line);
  text += fmt::format("\nread as others: {}\ncarried through untouched: {}\n",
                      fmt::join(others.read, ", "), fmt::join(others.untouched, ", "));
  return text;
}

}  // namespace reverie
