#include "worldmodel/train_mdnrnn.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/base/hash.h"

namespace reverie {
namespace {

constexpr uint64_t kNoiseOfValidation = 1;

std::vector<std::vector<int>> split_into(const std::vector<int>& values, int size) {
  std::vector<std::vector<int>> parts;
  for (size_t i = 0; i < values.size(); i += size)
    parts.emplace_back(values.begin() + i, values.begin() + std::min(values.size(), i + size));
  return parts;
}

/// Sets what M knows of the scale of its inputs and outputs.
void set_statistics(const LatentEpisodes& data, const std::vector<int>& episodes,
                    MdnRnnImpl& network) {
  const int actions = network.spec.env.primary_actions();
  ColumnStatistics latent(network.spec.latent), change(network.spec.latent), counts(actions),
      reward(1);
  for (const auto& some : split_into(episodes, 64)) {
    const SequenceBatch batch = data.batch(some);
    const auto rows = batch.valid.flatten().nonzero().squeeze(1);
    const auto moving = batch.continues().flatten().nonzero().squeeze(1);
    const auto before = batch.latents.z.narrow(1, 0, batch.steps()).flatten(0, 1);
    const auto after = batch.latents.z.narrow(1, 1, batch.steps()).flatten(0, 1);
    latent.add(before.index_select(0, rows));
    change.add((after - before).index_select(0, moving));
    counts.add(torch::log1p(batch.mask.counts.narrow(1, 0, batch.steps())
                                .flatten(0, 1).index_select(0, rows).to(torch::kFloat)));
    reward.add(batch.reward.flatten().index_select(0, rows).unsqueeze(1));
  }
  latent.store(*network.latent);
  change.store(*network.change);
  counts.store(*network.log_counts);
  torch::NoGradGuard guard;
  network.reward_scale.copy_(reward.deviation());
}

class WorldProblem : public FitProblem {
 public:
  WorldProblem(const LatentEpisodes& data, const Encoder& encoder, const TrainMdnRnnConfig& config,
               uint64_t seed, torch::Device device)
      : data_(data),
        encoder_(encoder),
        config_(config),
        device_(device),
        training_(data.data().episodes_in(Split::kTrain)) {
    if (training_.empty()) throw InputError("the rollouts hold no training episodes; collect more");
    auto validation = data.data().episodes_in(Split::kValidation);
    if (validation.empty()) validation = training_;
    validation = thin(validation, config.validation_episodes);
    validation_ = split_into(validation, config.minibatch_episodes);
    LatentSpec spec;
    spec.latent = encoder.latent();
    spec.hidden = config.model.hidden;
    spec.env = data.data().spec();
    torch::manual_seed(seed);
    network_ = MdnRnn(config.model, spec);
    set_statistics(data, training_, *network_);
    network_->to(device);
  }

  void go_on_from(const Checkpoint& checkpoint) {
    restore(checkpoint);
    grown_ = true;
  }

  torch::nn::Module& module() override { return *network_; }

  int begin_epoch(int epoch, Rng& rng) override {
    unroll_ = grown_ ? config_.loss.unroll_steps
                     : std::min(config_.loss.unroll_steps, 1 + epoch / config_.growth_epochs);
    std::vector<int> order = training_;
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
    if (order.size() > static_cast<size_t>(config_.episodes_per_epoch))
      order.resize(static_cast<size_t>(config_.episodes_per_epoch));
    minibatches_ = split_into(order, config_.minibatch_episodes);
    return static_cast<int>(minibatches_.size());
  }

  LossTerms loss(int minibatch, torch::Generator noise) override {
    return world_losses(*network_, to_device(data_.batch(minibatches_[minibatch]), device_), config_.loss,
                        unroll_, noise);
  }

  FitMetrics validate() override {
    torch::NoGradGuard guard;
    network_->eval();
    auto noise = make_generator(kNoiseOfValidation);
    FitMean mean;
    for (const auto& episodes : validation_)
      mean.add(world_losses(*network_, to_device(data_.batch(episodes), device_), config_.loss,
                            config_.loss.unroll_steps, noise),
               static_cast<double>(episodes.size()));
    return mean.metrics();
  }

  Checkpoint checkpoint() const override {
    Checkpoint checkpoint;
    checkpoint.kind = "world";
    checkpoint.data = data_.data().fingerprint();
    Latents latents = data_.latents();
    for (const torch::Tensor* part : latents.tensors())
      if (part->defined())
        checkpoint.data = hash_combine(checkpoint.data, hash_bytes(part->data_ptr(), part->nbytes()));
    checkpoint.config = dump_config(config_);
    checkpoint.configs["train_mdnrnn"] = checkpoint.config;
    encoder_.store(checkpoint);
    MdnWorldModel(network_).store(checkpoint);
    return checkpoint;
  }

  void restore(const Checkpoint& checkpoint) override {
    restore_module(checkpoint, "world", *network_);
  }

 private:
  const LatentEpisodes& data_;
  const Encoder& encoder_;
  const TrainMdnRnnConfig& config_;
  torch::Device device_;
  std::vector<int> training_;
  std::vector<std::vector<int>> validation_;
  std::vector<std::vector<int>> minibatches_;
  int unroll_ = 1;
  bool grown_ = false;  // unrolls have their full length
  MdnRnn network_{nullptr};
};

}  // namespace

FitResult train_mdnrnn(const LatentEpisodes& data, const Encoder& encoder,
                       const TrainMdnRnnConfig& config, uint64_t seed,
                       const std::string& directory, bool resume, torch::Device device,
                       const std::function<void(const FitProgress&)>& observe,
                       const Checkpoint* from) {
  WorldProblem problem(data, encoder, config, seed, device);
  if (from != nullptr) problem.go_on_from(*from);
  return fit(problem, config.fit, seed, directory, "world.pt", resume, observe);
}

}  // namespace reverie
