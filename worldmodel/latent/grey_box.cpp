#include "worldmodel/latent/grey_box.h"

#include <algorithm>
#include <numeric>
#include <thread>
#include <utility>

#include "core/base/error.h"
#include "core/base/random.h"
#include "env/translated.h"

namespace reverie {

KnownStarts known_starts(const Environment& environment, const EnvSpec& known) {
  const auto seen = translated(environment.fork(), known);
  if (!seen->spec().knows_dynamics)
    throw InputError(
        "the environment '{}' does not know its dynamics here, as its steps measure; name a source "
        "of rewards that computes by dream.known_source, or set dream.environment=dream",
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
      trajectories_(std::move(encoder), world, starts_.at(0)->spec(), batch),
      pool_(std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, batch)) {
  spec_.env = starts_.front()->spec();
  if (!outcome_ && !spec_.env.learned.empty())
    throw InputError(
        "this M says nothing of outcomes; train it by train_mdnrnn with mdnrnn.outcome.members "
        "above 0 on an environment that knows its dynamics");
  rewards_ = torch::zeros({outcome_ ? outcome_->members() : 1, batch});
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
  known_.resize(starts.size());
  pool_.run(starts.size(), [&](size_t b, int) { known_[b] = starts_[starts[b]]->fork(); });
  rewards_.zero_();
  std::vector<int64_t> all(starts.size());
  std::iota(all.begin(), all.end(), 0);
  trajectories_.begin(observed(all));
  return observe();
}

std::vector<Observation> GreyBoxEnvironment::observed(const std::vector<int64_t>& rows) {
  std::vector<Observation> seen(rows.size());
  pool_.run(rows.size(), [&](size_t i, int) { seen[i] = known_[rows[i]]->observe(); });
  return seen;
}

LatentStep GreyBoxEnvironment::step(const LatentActions& actions) {
  const std::vector<Action> chosen = actions_of(actions);
  std::vector<int64_t> running, moved, unpaid;
  for (int64_t b = 0; b < batch(); ++b)
    if (!trajectories_.over(b)) running.push_back(b);
  std::vector<KnownStep> steps(running.size());
  pool_.run(running.size(),
            [&](size_t i, int) { steps[i] = known_[running[i]]->step(chosen[running[i]]); });
  computed_steps_ += std::ssize(running);
  std::vector<float> paid(chosen.size());
  for (size_t i = 0; i < running.size(); ++i) {
    const int64_t b = running[i];
    trajectories_.count(b, steps[i].terminated, steps[i].truncated);
    if (!steps[i].terminated) moved.push_back(b);
    if (steps[i].reward)
      paid[b] = static_cast<float>(*steps[i].reward);
    else
      unpaid.push_back(b);
  }
  rewards_ = torch::tensor(paid).repeat({rewards_.size(0), 1});
  if (!unpaid.empty()) learn(unpaid);
  trajectories_.move(actions, moved, observed(moved));
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
  for (const int64_t b : rows)
    if (spec_.env.reward_at_end && !trajectories_.over(b)) rewards_.select(1, b).zero_();
  const auto learned = said.learned.to(torch::kCPU).contiguous();
  const auto width = static_cast<size_t>(learned.size(1));
  const float* row = learned.data_ptr<float>();
  for (const int64_t b : rows) {
    known_[b]->tell({row, width});
    row += width;
  }
}

}  // namespace reverie
