#include "core/onnx/fill_weights.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/exec/draw.h"
#include "core/exec/reference/reference.h"
#include "core/onnx/captures.h"
#include "core/onnx/importer.h"
#include "core/onnx/pending_file.h"
#include "core/onnx/read_model.h"
#include "core/onnx/tensors.h"
#include "core/onnx/wire.h"

namespace reverie {
namespace {

/// Random numbers around the value of the fill.
Tensor draw_around(const Weight& weight, bool one_sign, Rng rng) {
  constexpr double kNoise = 0.1;
  const double centre = one_sign && weight.fill_value() <= 0 ? 1 : weight.fill_value();
  Tensor tensor({DType::kFloat64, weight.type().shape});
  for (double& x : tensor.data<double>()) {
    x = centre * rng.uniform(0.5, 1.5);
    if (!one_sign) x += rng.uniform(-kNoise, kNoise);
  }
  return tensor;
}

Tensor draw_weight(const Weight& weight, const DrawRole& role, Rng rng) {
  const bool is_product = role.variance != DrawRole().variance;
  const Tensor drawn = is_product ? draw(weight.type(), role, rng)
                                  : draw_around(weight, role.signs != Signs::kBoth, rng);
  return drawn.cast(weight.type().dtype);
}

bool is_large_fill(const Weight& weight) { return weight.is_fill() && !weight.is_small(); }

/// Runs the graph once and makes weights smaller where products would grow beyond bounds.
void calibrate(const Graph& graph, const WeightSource& weights, Rng rng, DrawPlan& plan) {
  std::vector<Tensor> inputs;
  for (const NodeId input : graph.inputs()) {
    const TensorType& type = graph.type(graph.output(input));
    inputs.push_back(draw(type, plan.input(graph.input_name(input)), rng.fork(inputs.size())));
  }
  ReferenceExecutor executor({.precision = Precision::kDouble, .cast_back = false});
  executor.observe(
      [&](NodeId node, std::vector<Tensor>& results) { plan.calibrate(graph, node, results); });
  executor.run(graph, inputs, weights);
}

std::map<std::string, Tensor> drawn_weights(const Graph& graph, uint64_t seed) {
  const Graph* const graphs[] = {&graph};
  DrawPlan plan(graphs);
  const WeightSource drawn = [&](const Weight& weight) {
    if (!is_large_fill(weight)) return weight.materialize();
    return draw_weight(weight, plan.weight(weight.identity()), Rng(seed).fork(weight.identity()));
  };
  calibrate(graph, drawn, Rng(seed).fork(0), plan);
  std::map<std::string, Tensor> weights;
  for (const NodeId node : graph.nodes())
    if (const WeightPtr& weight = graph.weight(node); weight != nullptr && is_large_fill(*weight))
      weights.emplace(weight->name(), drawn(*weight));
  return weights;
}

void erase_unused_initializers(onnx::GraphProto* graph, const std::set<std::string>& candidates) {
  const std::set<std::string> used = proto::names_taken(*graph);
  auto* initializers = graph->mutable_initializer();
  for (int i = initializers->size() - 1; i >= 0; --i)
    if (const std::string& name = initializers->Get(i).name();
        candidates.contains(name) && !used.contains(name))
      initializers->DeleteSubrange(i, 1);
}

/// Takes the fills out of the graph and returns what comes in their place.
std::vector<proto::LargeTensor> replace_fills(const std::map<std::string, Tensor>& weights,
                                              onnx::GraphProto* graph) {
  std::vector<proto::LargeTensor> filled;
  std::set<std::string> shapes;
  auto* nodes = graph->mutable_node();
  for (int i = nodes->size() - 1; i >= 0; --i) {
    const onnx::NodeProto& node = nodes->Get(i);
    if (node.op_type() != "ConstantOfShape" || !weights.contains(node.output(0))) continue;
    shapes.insert(node.input(0));
    const Tensor& drawn = weights.at(node.output(0));
    filled.push_back({{}, Weight::dense(drawn, node.output(0))});
    proto::write_type(drawn.type(), node.output(0), &filled.back().declaration);
    nodes->DeleteSubrange(i, 1);
  }
  erase_unused_initializers(graph, shapes);
  return filled;
}

}  // namespace

int fill_weights(const std::filesystem::path& from, const std::filesystem::path& to, uint64_t seed,
                 const ImportOptions& options) {
  proto::ModelFile read = proto::read_model(from);
  const ImportedModel imported = with_context(
      from.string(), [&] { return proto::Importer(read.model, read.files).run(options); });
  const std::map<std::string, Tensor> weights = drawn_weights(imported.graph, seed);
  const auto filled = replace_fills(weights, read.model.mutable_graph());
  proto::embed_external_data(read.model.mutable_graph(), read.files);
  proto::PendingFile file(to);
  proto::write_model(std::move(read.model), filled, to, file.stream());
  file.finish();
  file.commit();
  return static_cast<int>(weights.size());
}

}  // namespace reverie
