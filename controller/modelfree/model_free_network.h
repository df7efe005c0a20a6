#pragma once

#include <memory>
#include <span>
#include <vector>

#include "controller/policy/action_head.h"
#include "env/environment.h"
#include "worldmodel/encoder/encoder.h"

namespace reverie {

enum class ModelFreeKind { kGraph, kCandidates };

inline EnumNames<ModelFreeKind> enum_names(ModelFreeKind) {
  return {{ModelFreeKind::kGraph, "graph"}, {ModelFreeKind::kCandidates, "candidates"}};
}

struct ModelFreeConfig {
  ModelFreeKind network = ModelFreeKind::kGraph;
  EncoderConfig encoder;
  int64_t width = 64;
  ActionHeadConfig head;

  template <class V>
  void fields(V& v) {
    v.field("network", network,
            "graph: a graph network sees the state; candidates: an MLP scores each valid action by "
            "what it gains at once, and sees no graph");
    v.section("encoder", encoder, "graph: the graph network");
    v.field("width", width, "Width of actor and critic", at_least(1));
    v.section("head", head, "graph: how actions are scored; both: the logit of NO-OP");
  }
};

/// What an agent sees of a state of a real environment.
struct ModelFreeObservation {
  Observation observation;
  /// Of every valid action, by primary action, entity and index, in percent of the start's
  /// objective; 0 for NO-OP and where the environment cannot tell. Empty for a net that does not
  /// look ahead.
  std::vector<float> gains;
};

/// B of them.
using ModelFreeBatch = std::span<const ModelFreeObservation* const>;

/// Actor and critic on real observations. B inputs with to_go [B], the remaining share of the
/// horizon.
class ModelFreeNetwork : public torch::nn::Module {
 public:
  /// Whether it reads ModelFreeObservation::gains.
  virtual bool looks_ahead() const = 0;
  /// Input statistics, part of its state.
  virtual void set_statistics(ModelFreeBatch inputs) = 0;
  virtual Evaluation evaluate(ModelFreeBatch inputs, const torch::Tensor& to_go,
                              const LatentActions& actions) = 0;
  virtual Choice choose(ModelFreeBatch inputs, const torch::Tensor& to_go, bool greedy,
                        Rng& rng) = 0;
};

std::shared_ptr<ModelFreeNetwork> make_model_free_network(const EnvSpec& spec,
                                                          const ModelFreeConfig& config);

/// What the net wants to see of the environment's present state, `observation`.
ModelFreeObservation look(const Environment& environment, Observation observation,
                          const ModelFreeNetwork& net);

}  // namespace reverie
