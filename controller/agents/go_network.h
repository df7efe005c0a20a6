#pragma once

#include <vector>

#include "controller/agents/node_features.h"
#include "worldmodel/network/segment_attention.h"
#include "worldmodel/network/torch.h"

namespace reverie {

/// Sizes that the sources do not tell are chosen: see each.
struct GoSizes {
  int64_t width = 64;      ///< of all states; chosen
  int64_t heads = 4;       ///< of attention; chosen
  int64_t samplings = 2;   ///< layers of GraphSAGE; chosen
  int64_t attentions = 2;  ///< layers of attention below the tasks; chosen
  int64_t segment = 128;   ///< nodes; chosen
  int64_t levels = 20;     ///< of priority, in scheduling and in fusion; chosen
};

/// The tasks in the order in which they are decided.
enum class GoTask : uint8_t { kPlacement, kScheduling, kFusion };

/// The policy of GO (Zhou et al., "Transferable Graph Optimizers for ML Compilers", 2020).
///
/// - GraphSage over the nodes.
/// - Of each column the mean over the graph is taken away, and the rest is over its standard
///   deviation (chosen: without this all nodes get nearly the same decision).
/// - SegmentAttention over the nodes in topological order, gated by that mean.
/// - For each task one more such layer, with the same weights in all of them. It reads the states
///   of the layers below, an embedding of the task, and embeddings of what was decided for the node
///   in the tasks before (residual connections).
/// - A head a task. Entities are placed by the mean over their nodes.
///
/// Placement departs from the sources, which decide all devices in one shot: entities are placed
/// one after the other, and to a device's logit of that head W3 relu(W1 state + W2 columns) is
/// added, of the entity's state and of what is known of the device by then (PlacingSteps). The
/// weights are the same for all devices. Decisions with a schedule that grows are DOPPLER's (ICLR
/// 2026).
class GoNetworkImpl : public torch::nn::Module {
 public:
  GoNetworkImpl(int devices, std::vector<GoTask> tasks, const GoSizes& sizes = {});

  struct Encoded {
    torch::Tensor states;  ///< [1, nodes, width]
    torch::Tensor graph;   ///< [width]
  };
  Encoded encode(const NodeFeatures& features);
  /// The part of placement that is the same at all steps.
  struct Entities {
    torch::Tensor logits;  ///< [1, entities, devices]: of the head
    torch::Tensor states;  ///< [1, entities, width]: W1 state
  };
  Entities entities(const NodeFeatures& features, const Encoded& encoded);
  /// Logits of devices [..., devices], of slices of Entities and of
  /// `columns` [..., devices, PlacingSteps::kColumns].
  torch::Tensor devices(const torch::Tensor& logits, const torch::Tensor& states,
                        const torch::Tensor& columns);
  /// Logits of the next task, which is not placement: [samples, nodes, levels]. `decided`: for each
  /// task before it int64 [samples, entities or nodes].
  torch::Tensor levels(const NodeFeatures& features, const Encoded& encoded,
                       const std::vector<torch::Tensor>& decided);

  /// Makes all decisions about equally likely; after weights were drawn.
  void begin_evenly();

  const std::vector<GoTask>& tasks() const { return tasks_; }
  const GoSizes& sizes() const { return sizes_; }

 private:
  torch::Tensor sampled(const NodeFeatures& features);

  std::vector<GoTask> tasks_;
  GoSizes sizes_;
  torch::nn::Embedding operators_, tasks_embedding_;
  torch::nn::Linear input_, entity_, device_, choice_;
  GraphSage sage_;
  torch::nn::ModuleList attentions_, embeddings_, heads_;
  SegmentAttention shared_;
  torch::nn::LayerNorm norm_;  ///< of states of entities
};
TORCH_MODULE(GoNetwork);

}  // namespace reverie
