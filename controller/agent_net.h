#pragma once

#include <memory>
#include <span>
#include <vector>

#include "controller/action_head.h"
#include "env/environment.h"
#include "worldmodel/encoder.h"

namespace reverie {

enum class AgentNetKind { kGraph, kCandidates };

inline EnumNames<AgentNetKind> enum_names(AgentNetKind) {
  return {{AgentNetKind::kGraph, "graph"}, {AgentNetKind::kCandidates, "candidates"}};
}

struct AgentNetConfig {
  AgentNetKind network = AgentNetKind::kGraph;
  EncoderConfig encoder;
  int64_t width = 64;
  ActionHeadConfig head;

  template <class V> void fields(V& v) {
    v.field("network", network,
            "graph: a graph network sees the state; candidates: an MLP scores each valid action by "
            "what it gains at once, and sees no graph");
    v.section("encoder", encoder, "graph: the graph network");
    v.field("width", width, "Width of actor and critic", at_least(1));
    v.section("head", head, "graph: how actions are scored; both: the logit of NO-OP");
  }
};

/// What an agent sees of a state of a real environment.
struct Sight {
  Observation observation;
  /// Of every valid action, by primary action, entity and index, in percent of the start's objective; 0 for
  /// NO-OP and where the environment cannot tell. Empty for a net that does not look ahead.
  std::vector<float> gains;
};

/// Actor and critic on real observations. B sights with to_go [B], the remaining share of the horizon.
class AgentNet : public torch::nn::Module {
 public:
  /// Whether it reads Sight::gains.
  virtual bool looks_ahead() const = 0;
  /// Input statistics, part of its state.
  virtual void set_statistics(std::span<const Sight* const> sights) = 0;
  virtual Evaluation evaluate(std::span<const Sight* const> sights, const torch::Tensor& to_go,
                              const LatentActions& actions) = 0;
  virtual Choice choose(std::span<const Sight* const> sights, const torch::Tensor& to_go,
                        bool greedy, Rng& rng) = 0;
};

std::shared_ptr<AgentNet> make_agent_net(const EnvSpec& spec, const AgentNetConfig& config);

/// What the net wants to see of the environment's present state, `observation`.
Sight look(const Environment& environment, Observation observation, const AgentNet& net);

}  // namespace reverie
