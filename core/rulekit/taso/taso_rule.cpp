#include "core/rulekit/taso/taso_rule.h"

#include <graph_subst.pb.h>

#include "core/base/error.h"
#include "core/base/files.h"

namespace reverie {
namespace {

TasoOp read_operator(const GraphSubst::Operator& message) {
  TasoOp op;
  op.type = message.type();
  for (const auto& input : message.input()) op.inputs.push_back({input.opid(), input.tsid()});
  for (const auto& parameter : message.para()) op.parameters[parameter.key()] = parameter.value();
  return op;
}

/// Operators refer to earlier ones only, and to outputs that these have.
void check_tensor(const std::vector<TasoOp>& side, TasoTensor tensor, size_t before,
                  const char* what) {
  if (tensor.op < 0 && tensor.output == 0) return;
  if (tensor.op < 0 || static_cast<size_t>(tensor.op) >= before)
    throw InputError("{} refers to operator {}, which does not come before it", what, tensor.op);
  const int outputs = side[static_cast<size_t>(tensor.op)].outputs();
  if (tensor.output < 0 || tensor.output >= outputs)
    throw InputError("{} refers to output {} of operator {}, which has {}", what, tensor.output,
                     tensor.op, outputs);
}

void check_side(const std::vector<TasoOp>& side) {
  constexpr int kMostOutputs = 64;
  constexpr size_t kMostOperators = 16;
  if (side.size() > kMostOperators)
    throw InputError("{} operators on one side, more than {}", side.size(), kMostOperators);
  for (size_t i = 0; i < side.size(); ++i) {
    if (side[i].outputs() < 1 || side[i].outputs() > kMostOutputs)
      throw InputError("an operator with {} outputs", side[i].outputs());
    for (const TasoTensor& input : side[i].inputs) check_tensor(side, input, i, "an input");
  }
}

TasoRule read_rule(const GraphSubst::Rule& message) {
  TasoRule rule;
  for (const auto& op : message.srcop()) rule.source.push_back(read_operator(op));
  for (const auto& op : message.dstop()) rule.target.push_back(read_operator(op));
  check_side(rule.source);
  check_side(rule.target);
  for (const auto& output : message.mappedoutput()) {
    rule.outputs.push_back(
        {{output.srcopid(), output.srctsid()}, {output.dstopid(), output.dsttsid()}});
    check_tensor(rule.source, rule.outputs.back().source, rule.source.size(), "a mapped output");
    check_tensor(rule.target, rule.outputs.back().target, rule.target.size(), "a mapped output");
    if (rule.outputs.back().source.op < 0) throw InputError("an input of the pattern is replaced");
  }
  if (rule.source.empty() || rule.outputs.empty())
    throw InputError("a rule needs source operators and mapped outputs");
  return rule;
}

void write_operator(const TasoOp& op, GraphSubst::Operator& message) {
  message.set_type(op.type);
  for (const TasoTensor& input : op.inputs) {
    GraphSubst::Tensor& tensor = *message.add_input();
    tensor.set_opid(input.op);
    tensor.set_tsid(input.output);
  }
  for (const auto& [key, value] : op.parameters) {
    GraphSubst::Parameter& parameter = *message.add_para();
    parameter.set_key(key);
    parameter.set_value(value);
  }
}

}  // namespace

std::vector<TasoRule> read_taso_rules(const std::string& path) {
  GraphSubst::RuleCollection collection;
  if (!collection.ParseFromString(read_file(path)) || collection.rule_size() == 0 ||
      !collection.unknown_fields().empty())
    throw InputError(
        "'{}' holds no substitutions in TASO's protobuf format "
        "(GraphSubst.RuleCollection)",
        path);
  std::vector<TasoRule> rules;
  for (const auto& rule : collection.rule())
    rules.push_back(with_context(fmt::format("{}: rule {}", path, rules.size()),
                                 [&] { return read_rule(rule); }));
  return rules;
}

void write_taso_rules(const std::vector<TasoRule>& rules, const std::string& path) {
  GraphSubst::RuleCollection collection;
  for (const TasoRule& rule : rules) {
    GraphSubst::Rule& message = *collection.add_rule();
    for (const TasoOp& op : rule.source) write_operator(op, *message.add_srcop());
    for (const TasoOp& op : rule.target) write_operator(op, *message.add_dstop());
    for (const TasoOutput& output : rule.outputs) {
      GraphSubst::MapOutput& mapped = *message.add_mappedoutput();
      mapped.set_srcopid(output.source.op);
      mapped.set_dstopid(output.target.op);
      mapped.set_srctsid(output.source.output);
      mapped.set_dsttsid(output.target.output);
    }
  }
  std::string bytes;
  REVERIE_CHECK(collection.SerializeToString(&bytes));
  write_file(path, bytes);
}

}  // namespace reverie
