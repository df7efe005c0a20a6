#include "controller/modelfree/script_agent.h"

#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/script.h>

#include <filesystem>

#include "core/base/error.h"
#include "worldmodel/batch/choice_features.h"
#include "worldmodel/batch/graph_batch.h"

namespace reverie {
namespace {

constexpr double kFeatureBound = 1e6;  // as reverie.observations.FEATURE_BOUND

using Tensors = c10::Dict<std::string, torch::Tensor>;

/// The graph of a state and its valid actions, with the names of reverie.Graph.
Tensors graph_of(const ObservationBatch& seen, const ListedActions& valid) {
  const GraphBatch& graph = seen.graph;
  const auto bounded = [](const torch::Tensor& features) {
    return features.clamp(-kFeatureBound, kFeatureBound);
  };
  const LatentActions& actions = valid.actions;
  Tensors tensors;
  tensors.insert("x", bounded(graph.nodes));
  tensors.insert("node_type", graph.node_types);
  tensors.insert("node_entity", graph.node_entity);
  tensors.insert("edge_index", torch::stack({graph.senders, graph.receivers}));
  tensors.insert("edge_attr", bounded(graph.edges));
  tensors.insert("actions", torch::stack({actions.primary, actions.entity, actions.index}, 1));
  tensors.insert(
      "action_attr",
      bounded(seen.entity_features.index({valid.state, actions.entity, actions.primary})));
  tensors.insert("num_entities", torch::tensor(seen.mask.entities()));
  tensors.insert("batch", graph.node_graph);
  tensors.insert("ptr", torch::tensor({int64_t{0}, graph.node_total()}));
  tensors.insert("action_batch", valid.state);
  return tensors;
}

torch::Tensor scores_of(const torch::IValue& returned) {
  torch::IValue scores = returned;
  if (scores.isTuple() && !scores.toTupleRef().elements().empty())
    scores = scores.toTupleRef().elements()[0];
  if (!scores.isTensor())
    throw InputError(
        "forward must return the scores of the valid actions, or a tuple that begins "
        "with them");
  return scores.toTensor().to(torch::kCPU, torch::kDouble);
}

void require_scores(const torch::Tensor& scores, int64_t valid) {
  if (scores.dim() != 1 || scores.size(0) != valid)
    throw InputError("forward returned scores of shape {}; there are {} valid actions",
                     fmt::format("[{}]", fmt::join(scores.sizes(), ", ")), valid);
  if (!scores.isfinite().all().item<bool>())
    throw InputError("forward returned a score that is not a finite number");
}

/// Of what LibTorch says, the line that tells what it is: behind where in the script it arose.
std::string reason_in(std::string text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

class ScriptAgent : public CollectAgent {
 public:
  ScriptAgent(std::string path, torch::jit::Module module)
      : path_(std::move(path)), module_(std::move(module)) {}

  std::string begin(const Environment&, Rng&) override {
    return std::filesystem::path(path_).filename().string();
  }

  Action act(const Environment& env, const Observation& observation, Rng& rng) override {
    return with_context(path_, [&] {
      torch::NoGradGuard no_grad;
      const ObservationBatch seen = batch_observations({&observation, 1}, env.spec());
      const ListedActions valid = valid_actions(seen.mask);
      const torch::Tensor scores = scores_of(forward(graph_of(seen, valid)));
      require_scores(scores, valid.state.size(0));
      const torch::Tensor sums = scores.softmax(0).cumsum(0);
      const auto drawn = torch::searchsorted(
          sums, torch::tensor(rng.uniform(), torch::kDouble) * sums[-1], false, true);
      const auto at = drawn.clamp_max(scores.size(0) - 1).reshape({1});
      return actions_of(select_rows(valid.actions, at)).front();
    });
  }

  std::unique_ptr<CollectAgent> fork() const override {
    return std::make_unique<ScriptAgent>(*this);
  }

 private:
  /// Unoptimized, as what a graph is specialized to depends on what was played before.
  torch::IValue forward(const Tensors& graph) {
    const torch::jit::GraphOptimizerEnabledGuard as_written(false);
    try {
      return module_.forward({graph});
    } catch (const c10::Error& error) {
      throw InputError("forward failed: {}", reason_in(error.what_without_backtrace()));
    } catch (const std::exception& error) {
      throw InputError("forward failed: {}", reason_in(error.what()));
    }
  }

  std::string path_;
  torch::jit::Module module_;
};

}  // namespace

std::unique_ptr<CollectAgent> load_script_agent(const std::string& path) {
  if (!std::filesystem::exists(path))
    throw InputError("collect.agent is '{}', and there is no such file", path);
  try {
    torch::jit::Module module = torch::jit::load(path, torch::kCPU);
    module.eval();
    if (!module.find_method("forward")) throw InputError("{}: it has no forward", path);
    return std::make_unique<ScriptAgent>(path, std::move(module));
  } catch (const c10::Error& error) {
    throw InputError("{} is no TorchScript file, such as torch.jit.script(module).save writes: {}",
                     path, reason_in(error.what_without_backtrace()));
  }
}

}  // namespace reverie
