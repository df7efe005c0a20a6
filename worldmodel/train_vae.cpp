#include "worldmodel/train_vae.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/base/shuffle.h"
#include "worldmodel/packer.h"
#include "worldmodel/state_pairs.h"

namespace reverie {
namespace {

constexpr int kStatisticsStates = 2000;

/// Everything that a Vae holds but the encoder, by name.
std::vector<std::pair<std::string, std::shared_ptr<torch::nn::Module>>> parts_of(const Vae& vae) {
  std::vector<std::pair<std::string, std::shared_ptr<torch::nn::Module>>> parts;
  for (const auto& child : vae.named_children())
    if (child.key() != "encoder") parts.emplace_back(child.key(), child.value());
  return parts;
}

class VaeProblem : public FitProblem {
 public:
  VaeProblem(const EpisodeSource& data, const TrainVaeConfig& config, uint64_t seed,
             torch::Device device)
      : data_(data),
        config_(config),
        device_(device),
        training_(data.states_in(Split::kTrain)),
        validation_(pack(thin(data.states_in(data.judging_split()), config.validation_states))) {
    if (training_.empty()) throw InputError("the rollouts hold no training episodes; collect more");
    if (contrastive()) read_steps();
    torch::manual_seed(seed);
    vae_ = std::make_shared<Vae>(config.encoder, data.spec());
    set_statistics();
    vae_->to(device);
  }

  torch::nn::Module& module() override { return *vae_; }

  int begin_epoch(int, Rng& rng) override {
    minibatches_ = contrastive() ? draw_steps(rng) : draw_states(rng);
    return static_cast<int>(minibatches_.size());
  }

  LossTerms loss(int minibatch, torch::Generator noise) override {
    const StateMinibatch& some = minibatches_[minibatch];
    return vae_->losses(load(some), load_pairs(some), config_.loss, true, noise);
  }

  FitMetrics validate() override {
    torch::NoGradGuard guard;
    vae_->eval();
    FitMean mean;
    auto noise = make_generator(kNoiseOfValidation);
    for (const StateMinibatch& some : validation_)
      mean.add(vae_->losses(load(some), {}, config_.loss, false, noise),
               static_cast<double>(some.states.size()));
    FitMetrics metrics = mean.metrics();
    if (contrastive()) add_contrast(metrics);
    return metrics;
  }

  Checkpoint checkpoint() const override {
    Checkpoint checkpoint;
    checkpoint.kind = "encoder";
    checkpoint.data = data_.fingerprint();
    checkpoint.config = dump_config(config_);
    checkpoint.configs["train_vae"] = checkpoint.config;
    vae_->encoder->store(checkpoint);
    for (const auto& [name, part] : parts_of(*vae_)) store_module(checkpoint, name, *part);
    return checkpoint;
  }

  void restore(const Checkpoint& checkpoint) override {
    restore_module(checkpoint, "encoder", *vae_->encoder);
    for (const auto& [name, part] : parts_of(*vae_)) restore_module(checkpoint, name, *part);
  }

 private:
  bool contrastive() const { return config_.encoder.kind == EncoderKind::kContrastive; }

  std::vector<StateMinibatch> pack(const std::vector<int>& states) const {
    std::vector<StateMinibatch> result;
    for (auto& some :
         pack_states(data_, states, config_.minibatch_nodes, config_.minibatch_graphs))
      result.push_back({std::move(some), {}});
    return result;
  }
  std::vector<StateMinibatch> pack(const std::vector<StateStep>& steps) const {
    return pack_steps(data_, steps, config_.minibatch_nodes, config_.minibatch_graphs);
  }

  /// Steps of both splits; those for validation make about as many states as are validated on.
  void read_steps() {
    training_steps_ = steps_in(data_, Split::kTrain);
    if (training_steps_.empty())
      throw InputError("the rollouts hold no step that changes a state; collect more");
    auto steps = steps_in(data_, Split::kValidation);
    if (steps.empty()) steps = training_steps_;
    validation_steps_ = pack(thin(steps, (config_.validation_states + 1) / 2));
  }

  std::vector<StateMinibatch> draw_states(Rng& rng) const {
    std::vector<int> states = training_;
    shuffle(std::span(states), rng);
    if (static_cast<int>(states.size()) > config_.states_per_epoch)
      states.resize(config_.states_per_epoch);
    return pack(states);
  }

  std::vector<StateMinibatch> draw_steps(Rng& rng) const {
    std::vector<StateStep> steps = training_steps_;
    shuffle(std::span(steps), rng);
    const auto most = static_cast<size_t>((config_.states_per_epoch + 1) / 2);
    if (steps.size() > most) steps.resize(most);
    return pack(steps);
  }

  ObservationBatch load(const StateMinibatch& some) const {
    return load_states(data_, some.states).to(device_);
  }
  StatePairs load_pairs(const StateMinibatch& some) const {
    return reverie::to_device(some.pairs(data_), device_);
  }

  void add_contrast(FitMetrics& metrics) {
    FitMean mean;
    for (const StateMinibatch& some : validation_steps_)
      mean.add(vae_->contrast_losses(load(some), load_pairs(some), config_.loss),
               static_cast<double>(some.steps.size()));
    const FitMetrics contrast = mean.metrics();
    metrics.front().second += contrast.front().second;
    metrics.insert(metrics.end(), contrast.begin() + 1, contrast.end());
  }

  void set_statistics() {
    ObservationStatistics statistics(data_.spec());
    for (const StateMinibatch& some : pack(thin(training_, kStatisticsStates)))
      statistics.add(load_states(data_, some.states));
    vae_->encoder->set_statistics(statistics);
  }

  const EpisodeSource& data_;
  const TrainVaeConfig& config_;
  torch::Device device_;
  std::vector<int> training_;
  std::vector<StateMinibatch> validation_;
  std::vector<StateStep> training_steps_;         // contrastive
  std::vector<StateMinibatch> validation_steps_;  // contrastive
  std::vector<StateMinibatch> minibatches_;
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

}  // namespace reverie
