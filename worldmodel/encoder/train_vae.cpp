#include "worldmodel/encoder/train_vae.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/base/shuffle.h"
#include "worldmodel/batch/packer.h"

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
    require_parts(config.fit, "minibatch_graphs", config.minibatch_graphs);
    vae_ =
        with_torch_seed(seed, [&] { return std::make_shared<Vae>(config.encoder, data.spec()); });
    set_statistics();
    vae_->to(device);
  }

  torch::nn::Module& module() override { return *vae_; }

  int begin_epoch(int, Rng& rng) override {
    std::vector<int> states = training_;
    shuffle(std::span(states), rng);
    if (static_cast<int>(states.size()) > config_.states_per_epoch)
      states.resize(config_.states_per_epoch);
    minibatches_ = pack(states);
    return static_cast<int>(minibatches_.size());
  }

  int size(int minibatch) const override {
    return static_cast<int>(minibatches_[minibatch].size());
  }

  LossTerms loss(int minibatch, Part part, torch::Generator noise) override {
    return vae_->losses(load(part_of(minibatches_[minibatch], part)), config_.loss, true, noise);
  }

  FitMetrics validate() override {
    torch::NoGradGuard guard;
    vae_->eval();
    FitMean mean;
    auto noise = make_generator(kNoiseOfValidation);
    for (const auto& states : validation_)
      mean.add(vae_->losses(load(states), config_.loss, false, noise),
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
    for (const auto& [name, part] : parts_of(*vae_)) store_module(checkpoint, name, *part);
    return checkpoint;
  }

  void restore(const Checkpoint& checkpoint) override {
    restore_module(checkpoint, "encoder", *vae_->encoder);
    for (const auto& [name, part] : parts_of(*vae_)) restore_module(checkpoint, name, *part);
  }

 private:
  std::vector<std::vector<int>> pack(const std::vector<int>& states) const {
    return pack_states(data_, states, config_.minibatch_nodes, config_.minibatch_graphs);
  }

  ObservationBatch load(const std::vector<int>& states) const {
    return load_states(data_, states).to(device_);
  }

  void set_statistics() {
    ObservationStatistics statistics(data_.spec());
    for (const auto& states : pack(thin(training_, kStatisticsStates)))
      statistics.add(load_states(data_, states));
    vae_->encoder->set_statistics(statistics);
  }

  const EpisodeSource& data_;
  const TrainVaeConfig& config_;
  torch::Device device_;
  std::vector<int> training_;
  std::vector<std::vector<int>> validation_, minibatches_;
  std::shared_ptr<Vae> vae_;
};

}  // namespace

FitResult train_vae(const EpisodeSource& data, const TrainVaeConfig& config, uint64_t seed,
                    const std::string& directory, bool resume, torch::Device device,
                    const std::function<void(const FitProgress&)>& observe) {
  VaeProblem problem(data, config, seed, device);
  if (registered(config.encoder.kind).trained)
    return fit(problem, config.fit, seed, directory, "encoder.pt", resume, observe);
  save_checkpoint(directory + "/encoder.pt", problem.checkpoint());
  return {};
}

}  // namespace reverie
