#include "env/adapt/search.h"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "env/adapt/features.h"
#include "env/adapt/linear_posterior.h"
#include "env/adapt/record.h"

namespace reverie {
namespace {

constexpr uint64_t kJobStream = 1, kDrawStream = 2;

// Of what a decision adds, in points of accuracy: standard deviations before anything was seen, of
// what it adds everywhere, of what it adds at its place besides, and of a job's accuracy.
constexpr double kEverywhere = 2, kAtItsPlace = 1, kNoise = 1, kLevel = 20;

using Choose = std::function<size_t(const JobState& state, const Decisions& choices)>;

double points_of(const AdaptStart& start, const JobState& job) {
  return 100 * mean_accuracy(job.curve, start.final_epochs);
}

std::unique_ptr<TrainingJob> play(const AdaptStart& start, uint64_t seed, const Choose& choose) {
  auto job = start.source->start(seed);
  while (!job->state().over) {
    const Decisions choices = choices_of(*start.source, job->state());
    job->decide(choices[choose(job->state(), choices)]);
  }
  return job;
}

std::unique_ptr<TrainingJob> play_random(const AdaptStart& start, const Rng& of_job) {
  Rng rng = of_job.fork(kDrawStream);
  return play(start, of_job.fork(kJobStream).bits(),
              [&](const JobState&, const Decisions& choices) { return rng.below(choices.size()); });
}

/// Accuracy when a share of the budget was spent.
double points_at(const AdaptStart& start, const JobState& job, double share) {
  JobState then = job;
  std::erase_if(then.curve, [&](const EpochRecord& epoch) { return epoch.spent > share; });
  return points_of(start, then);
}

/// What decisions add to the accuracy. Columns: the level, then each decision wherever it is taken,
/// then each at each place.
class DecisionEffects {
 public:
  explicit DecisionEffects(const AdaptStart& start)
      : DecisionEffects(start, start.source->start(0)->state()) {}

  /// The two columns of a decision.
  std::array<size_t, 2> columns(const JobState& state,
                                const std::optional<ChangeAtRate>& decision) const {
    const size_t column = 1 + number_of(state, decision);
    return {column, column + decisions_ * (1 + state.decisions.size())};
  }
  LinearPosterior& posterior() { return posterior_; }

 private:
  DecisionEffects(const AdaptStart& start, const JobState& first)
      : rates_(start.source->rates()),
        origins_(static_cast<size_t>(first.network.origins())),
        decisions_(1 + 2 * origins_ * rates_.size()),
        posterior_(prior(points_of(start, first), static_cast<size_t>(start.source->decisions()))) {}

  LinearPosterior prior(double level, size_t places) const {
    std::vector<double> means(1 + decisions_ * (1 + places)), deviations(means.size(), kAtItsPlace);
    means[0] = level;
    deviations[0] = kLevel;
    std::fill_n(deviations.begin() + 1, decisions_, kEverywhere);
    return {means, deviations, kNoise};
  }

  size_t number_of(const JobState& state, const std::optional<ChangeAtRate>& decision) const {
    if (!decision) return 0;
    const auto& [kind, block] = decision->change;
    const auto origin = static_cast<size_t>(state.network.blocks[static_cast<size_t>(block)].origin);
    const auto rate = static_cast<size_t>(std::ranges::find(rates_, decision->rate) - rates_.begin());
    return 1 + (static_cast<size_t>(kind) * origins_ + origin) * rates_.size() + rate;
  }

  const std::vector<double>& rates_;
  size_t origins_, decisions_;
  LinearPosterior posterior_;
};

/// A job by the decisions that are best for these effects; `row` gets its columns.
std::unique_ptr<TrainingJob> play_best(const AdaptStart& start, const DecisionEffects& effects,
                                       const std::vector<double>& weights, uint64_t seed,
                                       std::vector<double>& row) {
  row.assign(weights.size(), 0);
  row[0] = 1;
  return play(start, seed, [&](const JobState& state, const Decisions& choices) {
    const auto worth = [&](const auto& choice) {
      const auto [everywhere, at_its_place] = effects.columns(state, choice);
      return weights[everywhere] + weights[at_its_place];
    };
    const auto best = std::ranges::max_element(choices, {}, worth);
    for (const size_t column : effects.columns(state, *best)) ++row[column];
    return static_cast<size_t>(best - choices.begin());
  });
}

}  // namespace

std::unique_ptr<TrainingJob> random_best(const AdaptStart& start, int episodes, uint64_t seed) {
  REVERIE_CHECK(episodes > 0);
  std::unique_ptr<TrainingJob> best;
  for (int episode = 0; episode < episodes; ++episode) {
    auto job = play_random(start, Rng(seed).fork(static_cast<uint64_t>(episode)));
    if (!best || points_of(start, job->state()) > points_of(start, best->state()))
      best = std::move(job);
  }
  return best;
}

std::unique_ptr<TrainingJob> successive_halving(const AdaptStart& start, int episodes,
                                                uint64_t seed) {
  REVERIE_CHECK(episodes > 0);
  std::vector<std::unique_ptr<TrainingJob>> jobs;
  for (int episode = 0; episode < 2 * episodes; ++episode)
    jobs.push_back(play_random(start, Rng(seed).fork(static_cast<uint64_t>(episode))));
  const double from = start.source->start(seed)->state().spent;
  for (const double share : {0.25, 0.5, 1.0}) {
    std::ranges::stable_sort(jobs, std::greater(), [&](const auto& job) {
      return points_at(start, job->state(), from + share * (1 - from));
    });
    jobs.resize((jobs.size() + 1) / 2);
  }
  return std::move(jobs.front());
}

std::unique_ptr<TrainingJob> thompson(const AdaptStart& start, int episodes, uint64_t seed) {
  REVERIE_CHECK(episodes > 0);
  DecisionEffects effects(start);
  std::vector<double> row;
  for (int episode = 0; episode < episodes; ++episode) {
    const Rng of_job = Rng(seed).fork(static_cast<uint64_t>(episode));
    Rng rng = of_job.fork(kDrawStream);
    const auto job = play_best(start, effects, effects.posterior().draw(rng),
                               of_job.fork(kJobStream).bits(), row);
    effects.posterior().observe(row, points_of(start, job->state()));
  }
  const uint64_t last = Rng(seed).fork(static_cast<uint64_t>(episodes)).bits();
  return play_best(start, effects, effects.posterior().mean(), last, row);
}

}  // namespace reverie
