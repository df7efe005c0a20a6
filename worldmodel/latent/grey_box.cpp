#include "worldmodel/latent/grey_box.h"

#include <utility>

#include "core/base/error.h"
#include "core/base/random.h"
#include "env/translated.h"

namespace reverie {

KnownStarts known_starts(const Environment& environment, const EnvSpec& known) {
  const auto seen = translated(environment.fork(), known);
  if (!seen->spec().knows_dynamics)
    throw InputError(
        "the environment '{}' does not know its dynamics here, so there is no grey-box dream of "
        "it; set dream.environment=dream",
        known.name);
  KnownStarts starts;
  for (int start = 0; start < seen->spec().start_states(); ++start) {
    seen->reset(static_cast<uint64_t>(start));
    starts.push_back(seen->known());
  }
  return starts;
}

GreyBoxEnvironment::GreyBoxEnvironment(KnownStarts starts, std::shared_ptr<Encoder> encoder,
                                       std::shared_ptr<WorldModel> world, int batch)
    : spec_(world->spec()),
      starts_(std::move(starts)),
      outcome_(world->outcome()),
      trajectories_(std::move(encoder), world, starts_.at(0)->spec(), batch) {
  spec_.env = starts_.front()->spec();
  if (!outcome_)
    throw InputError(
        "this M says nothing of outcomes; train it by train_mdnrnn with mdnrnn.outcome.members "
        "above 0 on an environment that knows its dynamics");
  rewards_ = torch::zeros({outcome_->members(), batch});
}

LatentObservation GreyBoxEnvironment::reset(uint64_t seed) {
  Rng rng(seed);
  std::vector<size_t> starts(static_cast<size_t>(batch()));
  for (size_t& start : starts) start = rng.below(starts_.size());
  return begin_at(starts);
}

LatentObservation GreyBoxEnvironment::reset_in_turn() {
  std::vector<size_t> starts(static_cast<size_t>(batch()));
  for (size_t b = 0; b < starts.size(); ++b) starts[b] = b % starts_.size();
  return begin_at(starts);
}

LatentObservation GreyBoxEnvironment::begin_at(const std::vector<size_t>& starts) {
  known_.clear();
  std::vector<Observation> seen;
  for (const size_t start : starts) {
    known_.push_back(starts_[start]->fork());
    seen.push_back(known_.back()->observe());
  }
  rewards_.zero_();
  trajectories_.begin(seen);
  return observe();
}

LatentStep GreyBoxEnvironment::step(const LatentActions& actions) {
  const std::vector<Action> chosen = actions_of(actions);
  std::vector<int64_t> running, moved;
  std::vector<char> rewarded(chosen.size());
  for (int64_t b = 0; b < batch(); ++b) {
    if (trajectories_.over(b)) continue;
    const KnownStep step = known_[b]->step(chosen[b]);
    trajectories_.count(b, step.terminated, step.truncated);
    running.push_back(b);
    if (!step.terminated) moved.push_back(b);
    rewarded[b] = !spec_.env.reward_at_end || trajectories_.over(b);
  }
  rewards_ = torch::zeros_like(rewards_);
  if (!running.empty()) learn(running);
  for (int64_t b = 0; b < batch(); ++b)
    if (!rewarded[b]) rewards_.select(1, b).zero_();
  std::vector<Observation> reached;
  for (const int64_t b : moved) reached.push_back(known_[b]->observe());
  trajectories_.move(actions, moved, reached);
  return trajectories_.result(rewards_.mean(0));
}

void GreyBoxEnvironment::learn(const std::vector<int64_t>& rows) {
  std::vector<float> targets;
  for (const int64_t b : rows) {
    const std::vector<float> row = known_[b]->observe().graph.graph_targets;
    targets.insert(targets.end(), row.begin(), row.end());
  }
  const auto device = outcome_->first.device();
  const OutcomePrediction said =
      outcome_->predict(torch::tensor(targets).view({std::ssize(rows), -1}).to(device));
  rewards_.index_copy_(1, torch::tensor(rows), said.reward.to(torch::kCPU));
  const auto learned = said.learned.to(torch::kCPU).contiguous();
  const auto width = static_cast<size_t>(learned.size(1));
  const float* row = learned.data_ptr<float>();
  for (const int64_t b : rows) {
    known_[b]->tell({row, width});
    row += width;
  }
}

}  // namespace reverie
