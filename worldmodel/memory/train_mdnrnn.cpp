#include "worldmodel/memory/train_mdnrnn.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/shuffle.h"
#include "worldmodel/batch/batch_steps.h"

namespace reverie {
namespace {

torch::Tensor where(const torch::Tensor& x, const torch::Tensor& chosen) {
  return x.index_select(0, chosen.nonzero().squeeze(1));
}

/// [A] bool: which primary actions have choices in some of these counts [n, A].
torch::Tensor any_of(const torch::Tensor& counts) { return counts.gt(0).any(0); }

/// Sets what M knows of its inputs and outputs: which actions there are, and the scale of the rows
/// that it works on, that of changes of those acted in, as most neighbours stay what they are.
void set_statistics(const LatentEpisodes& data, const std::vector<int>& episodes,
                    MdnRnnImpl& network) {
  const int width = network.spec.latent;
  ColumnStatistics latent(width), change(width), global(width), reward(1),
      counts(network.spec.env.primary_actions());
  auto seen = torch::zeros_like(network.seen, torch::kBool);
  for (const auto& some : split_into(episodes, 64)) {
    const BatchSteps steps = steps_of(data.batch(some));
    const Rows rows(steps.actions.entity, steps.before.neighbours);
    const auto valid = rows.spread(steps.valid);
    const auto before = rows.take(steps.before.entities);
    const auto difference = rows.take(steps.after.entities) - before;
    seen.logical_or_(any_of(where(steps.mask.totals, steps.valid)))
        .logical_or_(any_of(where(steps.next_mask.totals, steps.continues)));
    latent.add(where(before, valid));
    change.add(where(difference.narrow(0, 0, rows.trajectories()), steps.continues));
    counts.add(torch::log1p(where(rows.counts(steps.mask), valid).to(torch::kFloat)));
    reward.add(where(steps.reward, steps.valid).unsqueeze(1));
    global.add(where(steps.before.z, steps.valid));
  }
  latent.store(*network.latent);
  change.store(*network.change);
  counts.store(*network.log_counts);
  global.store(*network.global);
  torch::NoGradGuard guard;
  network.reward_scale.copy_(reward.deviation());
  network.seen.mul_(seen);
}

/// V's pool.
EntityPool pool_of(const Encoder& encoder) {
  Checkpoint checkpoint;
  encoder.store(checkpoint);
  return load_entity_pool(checkpoint);
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
    require_parts(config.fit, "minibatch_episodes", config.minibatch_episodes);
    const auto judging =
        thin(data.data().episodes_in(data.data().judging_split()), config.validation_episodes);
    validation_ = split_into(judging, config.minibatch_episodes);
    LatentSpec spec;
    spec.latent = encoder.latent();
    spec.hidden = config.model.hidden;
    spec.env = data.data().spec();
    const EntityPool pool = pool_of(encoder);
    network_ = with_torch_seed(seed, [&] { return MdnRnn(config.model, spec, pool); });
    set_statistics(data, training_, *network_);
    network_->to(device);
    if (!spec.env.learned.empty() && config.outcome.members > 0)
      outcome_ = train_outcome(data.data(), config.outcome, seed);
  }

  void go_on_from(const Checkpoint& checkpoint) {
    restore(checkpoint);
    grown_ = true;
    origin_ = hash_of_tensors(checkpoint);
  }

  torch::nn::Module& module() override { return *network_; }

  int begin_epoch(int epoch, Rng& rng) override {
    unroll_ = grown_ ? config_.loss.unroll_steps
                     : std::min(config_.loss.unroll_steps, 1 + epoch / config_.growth_epochs);
    std::vector<int> order = training_;
    shuffle(std::span(order), rng);
    if (order.size() > static_cast<size_t>(config_.episodes_per_epoch))
      order.resize(static_cast<size_t>(config_.episodes_per_epoch));
    minibatches_ = split_into(order, config_.minibatch_episodes);
    return static_cast<int>(minibatches_.size());
  }

  int size(int minibatch) const override {
    return static_cast<int>(minibatches_[minibatch].size());
  }

  LossTerms loss(int minibatch, Part part, torch::Generator noise) override {
    const auto episodes = part_of(minibatches_[minibatch], part);
    return world_losses(*network_, to_device(data_.batch(episodes), device_), config_.loss, unroll_,
                        noise);
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
        checkpoint.data =
            hash_combine(checkpoint.data, hash_bytes(part->data_ptr(), part->nbytes()));
    checkpoint.config = dump_config(config_);
    checkpoint.configs["train_mdnrnn"] = checkpoint.config;
    encoder_.store(checkpoint);
    MdnWorldModel(network_, outcome_).store(checkpoint);
    return checkpoint;
  }

  void restore(const Checkpoint& checkpoint) override {
    const auto seen = network_->seen.clone();
    restore_module(checkpoint, "world", *network_);
    network_->seen.copy_(torch::maximum(network_->seen, seen));
  }

  uint64_t origin() const override { return origin_; }

 private:
  const LatentEpisodes& data_;
  const Encoder& encoder_;
  const TrainMdnRnnConfig& config_;
  torch::Device device_;
  std::vector<int> training_;
  std::vector<std::vector<int>> validation_;
  std::vector<std::vector<int>> minibatches_;
  int unroll_ = 1;
  uint64_t origin_ = 0;
  bool grown_ = false;  // unrolls have their full length
  MdnRnn network_{nullptr};
  OutcomeEnsemble outcome_{nullptr};
};

}  // namespace

TrainMdnRnnConfig trained_with(const Checkpoint& world) {
  TrainMdnRnnConfig config;
  const auto text = world.configs.find("train_mdnrnn");
  if (text == world.configs.end())
    throw InputError("the {} checkpoint holds no settings of M", world.kind);
  ConfigFields(config).load_text(text->second, "settings of M");
  return config;
}

FitResult train_mdnrnn(const LatentEpisodes& data, const Encoder& encoder,
                       const TrainMdnRnnConfig& config, uint64_t seed, const std::string& directory,
                       bool resume, torch::Device device,
                       const std::function<void(const FitProgress&)>& observe,
                       const Checkpoint* from) {
  WorldProblem problem(data, encoder, config, seed, device);
  if (from != nullptr) problem.go_on_from(*from);
  return fit(problem, config.fit, seed, directory, "world.pt", resume, observe);
}

std::vector<OpenLoopRow> judge_world(const LatentEpisodes& data, const std::vector<int>& steps,
                                     const std::string& directory, torch::Device device) {
  const std::string path = directory + "/world.pt";
  Checkpoint checkpoint = load_checkpoint(path, "world");
  const auto world = load_world_model(checkpoint);
  world->to_device(device);
  auto episodes = data.data().episodes_in(Split::kTest);
  if (episodes.empty()) episodes = data.data().episodes_in(Split::kValidation);
  const auto rows = open_loop(data, episodes, *world, steps);
  put_open_loop(checkpoint, rows);
  save_checkpoint(path, checkpoint);
  return rows;
}

}  // namespace reverie
