#include "tests/core/ort/opinion/second_opinion.h"

#include <algorithm>
#include <cmath>
#include <regex>

#include "core/base/error.h"
#include "core/exec/reference/reference.h"
#include "core/onnx/exporter.h"
#include "core/onnx/lower.h"
#include "core/onnx/save.h"
#include "core/onnx/spell_out.h"

namespace reverie::testing {
namespace {

/// A disagreement in which the runtime is wrong, or in which nobody is.
struct KnownFault {
  std::string_view where;  ///< part of the case's name
  std::string_view what;   ///< part of the difference
  const char* reason;
};
constexpr KnownFault kKnownFaults[] = {
    {"AveragePool", "nan instead of 0",
     "up to opset 18 the runtime divides by zero where a window lies in the padding alone"},
    {"ceil_mode = 1, strides = [3, 3], pads = [1, 1, 1, 1]", "2x4x2x2 instead of float32 2x4x3x3",
     "newer versions leave out windows that start in the padding, as ONNX says since 1.16"},
};

const KnownFault* known_fault(std::string_view where, std::string_view what) {
  const auto found = std::ranges::find_if(kKnownFaults, [&](const KnownFault& fault) {
    return where.find(fault.where) != where.npos && what.find(fault.what) != what.npos;
  });
  return found == std::end(kKnownFaults) ? nullptr : &*found;
}

/// Without what differs from case to case.
std::string short_reason(const std::string& text) {
  static const std::regex names(R"('[^']*'|/[^ ]*|[0-9]+)"), spaces(R"([\s]+)");
  return std::regex_replace(std::regex_replace(text, names, "_"), spaces, " ").substr(0, 160);
}

std::vector<Tensor> in_order(const Graph& graph, const std::vector<NamedTensor>& inputs) {
  std::vector<Tensor> ordered;
  for (const NodeId input : graph.inputs()) {
    const auto found = std::ranges::find(inputs, graph.input_name(input), &NamedTensor::name);
    REVERIE_CHECK(found != inputs.end(), "no input '{}'", graph.input_name(input));
    ordered.push_back(found->tensor);
  }
  return ordered;
}

double peak_of(const std::vector<double>& values) {
  double peak = 0;
  for (const double value : values)
    if (std::isfinite(value)) peak = std::max(peak, std::abs(value));
  return peak;
}

/// What the graph's inputs are called in it; a file has no others.
std::vector<NamedTensor> known_to(const Graph& graph, const std::vector<NamedTensor>& inputs) {
  std::vector<NamedTensor> known;
  for (const NodeId input : graph.inputs())
    for (const NamedTensor& given : inputs)
      if (given.name == graph.input_name(input)) known.push_back(given);
  return known;
}

}  // namespace

std::string difference(const Tensor& expected, const Tensor& found) {
  if (expected.type() != found.type())
    return fmt::format("{} instead of {}", to_string(found.type()), to_string(expected.type()));
  const std::vector<double> a = expected.to_doubles(), b = found.to_doubles();
  const DType dtype = expected.type().dtype;
  const bool single = dtype == DType::kFloat32 || dtype == DType::kFloat64;
  const double tolerance = !is_floating(dtype) ? 0 : single ? 1e-4 : 1e-2;
  const double measure = 0.1 * peak_of(a);
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    if (!(std::abs(a[i] - b[i]) <= tolerance * (measure + std::abs(a[i]))))
      return fmt::format("element {}: {} instead of {}", i, b[i], a[i]);
  }
  return "";
}

void SecondOpinion::ask(const std::string& where, const std::filesystem::path& file) {
  const ImportedModel model = import_onnx(file);
  ask(where, file, ort::random_inputs(model.graph));
}

void SecondOpinion::ask(const std::string& where, const std::filesystem::path& file,
                        const std::vector<NamedTensor>& inputs) {
  const ImportedModel model = import_onnx(file);
  const bool is_whole = std::ranges::none_of(
      model.graph.nodes(), [&](NodeId node) { return &model.graph.op(node) == &opaque_op(); });
  if (!is_whole) return leave_out("untouched nodes: " + model.warnings.at(0).substr(0, 160));
  run_both(where, file, inputs, model.graph,
           ReferenceExecutor().run(model.graph, in_order(model.graph, inputs)));
}

void SecondOpinion::ask(const std::string& where, const std::filesystem::path& file,
                        const Graph& graph, const std::vector<NamedTensor>& inputs) {
  const std::vector<Tensor> expected = ReferenceExecutor().run(graph, in_order(graph, inputs));
  const Graph again = import_onnx(file).graph;
  const std::vector<Tensor> read = ReferenceExecutor().run(again, in_order(again, inputs));
  for (size_t i = 0; i < expected.size(); ++i)
    if (const std::string why = difference(expected[i], read[i]); !why.empty())
      disagree(fmt::format("{}, read again: output {}: {}", where, i, why));
  run_both(where, file, inputs, graph, expected);
}

bool SecondOpinion::ask_at(const std::string& where, const Graph& graph,
                           const proto::Language& wanted, const std::vector<NamedTensor>& inputs) {
  const int opset = wanted.opset;
  const proto::OpsetRange range = {opset, opset, {}, wanted.dialect};
  const Graph spelled = proto::spell_out(lower(graph), range, true);
  const auto language = proto::find_common_language(spelled, range);
  if (!language) return false;
  ModelInfo info;
  info.opset_imports = {{"", opset}};
  info.ir_version = 0;
  const std::filesystem::path file = folder_ / "model.onnx";
  proto::save(proto::Exporter(spelled, info, *language).run(), file, int64_t{1} << 30);
  ask(fmt::format("{} at opset {}", where, opset), file, graph, inputs);
  return true;
}

void SecondOpinion::run_both(const std::string& where, const std::filesystem::path& file,
                             const std::vector<NamedTensor>& inputs, const Graph& graph,
                             std::span<const Tensor> expected) {
  for (ort::OrtMachine* machine : {&off_, &on_}) {
    std::vector<NamedTensor> found;
    try {
      found = machine->outputs(file, known_to(graph, inputs));
    } catch (const InputError& refusal) {
      leave_out(machine->name() + ": " + short_reason(refusal.what()));
      continue;
    }
    ++compared_;
    for (size_t i = 0; i < expected.size(); ++i) {
      const std::string& name = graph.outputs()[i].name;
      const auto at = std::ranges::find(found, name, &NamedTensor::name);
      const std::string why =
          at == found.end() ? "is missing" : difference(expected[i], at->tensor);
      if (why.empty()) continue;
      if (const KnownFault* fault = known_fault(where, why))
        leave_out(fault->reason);
      else
        disagree(fmt::format("{}, {}: output '{}': {}", where, machine->name(), name, why));
    }
  }
}

std::string SecondOpinion::account() const {
  std::string text =
      fmt::format("{} runs compared, {} disagreements\n", compared_, disagreements_.size());
  for (const auto& [reason, count] : left_out_)
    text += fmt::format("{} not compared: {}\n", count, reason);
  for (const std::string& line : disagreements_) text += line + "\n";
  return text;
}

}  // namespace reverie::testing
