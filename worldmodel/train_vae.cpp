#include "worldmodel/train_vae.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"

namespace reverie {
namespace {

constexpr uint64_t kNoiseOfValidation = 1;
constexpr int kStatisticsStates = 2000;
constexpr int kEncodeNodes = 20000;

/// At most `count` values, evenly spread.
std::vector<int> thin(const std::vector<int>& values, int count) {
  const int size = static_cast<int>(values.size());
  if (size <= count) return values;
  std::vector<int> result;
  for (int i = 0; i < count; ++i)
    result.push_back(values[static_cast<int64_t>(i) * size / count]);
  return result;
}

void shuffle(std::vector<int>& values, Rng& rng) {
  for (size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[rng.below(i)]);
}

ObservationBatch load_states(const EpisodeSource& data, const std::vector<int>& states) {
  std::vector<Observation> observations;
  for (const int state : states) observations.push_back(data.state(state));
  return batch_observations(observations, data.spec());
}

/// Splits states into minibatches, in order, each bounded by nodes and by graphs.
class Packer {
 public:
  Packer(const EpisodeSource& data, int max_nodes, int max_graphs)
      : max_nodes_(max_nodes), max_graphs_(max_graphs) {
    nodes_.reserve(data.state_count());
    for (int i = 0; i < data.state_count(); ++i) nodes_.push_back(data.node_count(i));
  }

  std::vector<std::vector<int>> pack(const std::vector<int>& states) const {
    std::vector<std::vector<int>> batches;
    int nodes = 0;
    for (const int state : states) {
      const bool fits = !batches.empty() && nodes + nodes_[state] <= max_nodes_ &&
                        static_cast<int>(batches.back().size()) < max_graphs_;
      if (!fits) {
        batches.emplace_back();
        nodes = 0;
      }
      batches.back().push_back(state);
      nodes += nodes_[state];
    }
    return batches;
  }

 private:
  std::vector<int> nodes_;
  int max_nodes_;
  int max_graphs_;
};

class VaeProblem : public FitProblem {
 public:
  VaeProblem(const EpisodeSource& data, const TrainVaeConfig& config, uint64_t seed,
             torch::Device device)
      : data_(data),
        config_(config),
        device_(device),
        packer_(data, config.minibatch_nodes, config.minibatch_graphs),
        training_(data.states_in(Split::kTrain)),
        validation_(packer_.pack(thin(data.states_in(Split::kValidation), config.validation_states))) {
    if (training_.empty()) throw InputError("the rollouts hold no training episodes; collect more");
    if (validation_.empty()) validation_ = packer_.pack(thin(training_, config.validation_states));
    torch::manual_seed(seed);
    vae_ = std::make_shared<Vae>(config.encoder, data.spec());
    set_statistics();
    vae_->to(device);
  }

  torch::nn::Module& module() override { return *vae_; }

  int begin_epoch(int, Rng& rng) override {
    std::vector<int> states = training_;
    shuffle(states, rng);
    if (static_cast<int>(states.size()) > config_.states_per_epoch)
      states.resize(config_.states_per_epoch);
    minibatches_ = packer_.pack(states);
    return static_cast<int>(minibatches_.size());
  }

  LossTerms loss(int minibatch, torch::Generator noise) override {
    return vae_->losses(load_states(data_, minibatches_[minibatch]).to(device_), config_.loss, true,
                        noise);
  }

  FitMetrics validate() override {
    torch::NoGradGuard guard;
    vae_->eval();
    FitMean mean;
    auto noise = make_generator(kNoiseOfValidation);
    for (const auto& states : validation_)
      mean.add(vae_->losses(load_states(data_, states).to(device_), config_.loss, false, noise),
               static_cast<double>(states.size()));
    return mean.metrics();
  }

  Checkpoint checkpoint() const override {
    Checkpoint checkpoint;
    checkpoint.kind = "encoder";
    checkpoint.data = data_.fingerprint();
    checkpoint.config = dump_config(config_);
    checkpoint.configs["train_vae"] = checkpoint.config;
    vae_->encoder->store(checkpoint);
    store_module(checkpoint, "decoder", *vae_->decoder);
    return checkpoint;
  }

  void restore(const Checkpoint& checkpoint) override {
    restore_module(checkpoint, "encoder", *vae_->encoder);
    restore_module(checkpoint, "decoder", *vae_->decoder);
  }

 private:
  void set_statistics() {
    ObservationStatistics statistics(data_.spec());
    for (const auto& states : packer_.pack(thin(training_, kStatisticsStates)))
      statistics.add(load_states(data_, states));
    statistics.store(vae_->encoder->normalizer());
  }

  const EpisodeSource& data_;
  const TrainVaeConfig& config_;
  torch::Device device_;
  Packer packer_;
  std::vector<int> training_;
  std::vector<std::vector<int>> validation_;
  std::vector<std::vector<int>> minibatches_;
  std::shared_ptr<Vae> vae_;
};

}  // namespace

FitResult train_vae(const EpisodeSource& data, const TrainVaeConfig& config, uint64_t seed,
                    const std::string& directory, bool resume, torch::Device device,
                    const std::function<void(const FitProgress&)>& observe) {
  VaeProblem problem(data, config, seed, device);
  if (config.encoder.kind != EncoderKind::kRandom)
    return fit(problem, config.fit, seed, directory, "encoder.pt", resume, observe);
  save_checkpoint(directory + "/encoder.pt", problem.checkpoint());
  return {};
}

torch::Tensor encode_states(const EpisodeSource& data, Encoder& encoder,
                            const std::function<void(int)>& observe) {
  std::vector<int> all(data.state_count());
  for (int i = 0; i < data.state_count(); ++i) all[i] = i;
  auto latents = torch::empty({data.state_count(), encoder.latent()});
  int done = 0;
  for (const auto& states : Packer(data, kEncodeNodes, kEncodeNodes).pack(all)) {
    const auto z = encoder.encode(load_states(data, states).to(encoder.device()));
    latents.narrow(0, done, z.size(0)).copy_(z);
    done += static_cast<int>(states.size());
    if (observe) observe(done);
  }
  return latents;
}

}  // namespace reverie
