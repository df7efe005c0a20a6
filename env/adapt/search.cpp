#include "env/adapt/search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "core/base/error.h"
#include "env/adapt/features.h"
#include "env/adapt/linear_posterior.h"
#include "env/adapt/record.h"

namespace reverie {
namespace {

constexpr uint64_t kJobStream = 1, kDrawStream = 2;

// Standard deviations in points of accuracy. Before anything was seen: of what a decision adds
// everywhere, of what it adds at its place besides, and of the level. And of a job's accuracy.
constexpr double kEverywhere = 2, kAtItsPlace = 1, kLevel = 20, kNoise = 1;
constexpr double kBesideMembers = 0.4;  // of the first two, where an ensemble expects

double points_of(const AdaptStart& start, const JobState& job) {
  return 100 * mean_accuracy(job.curve, start.final_epochs);
}

std::unique_ptr<TrainingJob> play_random(const AdaptStart& start, const Rng& of_job) {
  Rng rng = of_job.fork(kDrawStream);
  auto job = start.source->start(of_job.fork(kJobStream).bits());
  while (!job->state().over) {
    const Decisions choices = choices_of(*start.source, job->state());
    job->decide(choices[rng.below(choices.size())]);
  }
  return job;
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
  DecisionEffects(const AdaptStart& start, const JobState& first)
      : rates_(start.source->rates()),
        origins_(static_cast<size_t>(first.network.origins())),
        decisions_(1 + 2 * origins_ * rates_.size()),
        places_(static_cast<size_t>(start.source->decisions())),
        level_(points_of(start, first)) {}

  /// The two columns of a decision.
  std::array<size_t, 2> columns(size_t place, const std::optional<ChangeAtRate>& decision) const {
    const size_t column = 1 + number_of(decision);
    return {column, column + decisions_ * (1 + place)};
  }
  std::vector<double> row_of(std::span<const std::optional<ChangeAtRate>> decisions) const {
    std::vector<double> row(1 + decisions_ * (1 + places_));
    row[0] = 1;
    for (size_t place = 0; place < decisions.size(); ++place)
      for (const size_t column : columns(place, decisions[place])) ++row[column];
    return row;
  }
  /// Nothing but the level at the first decision. Behind the columns of decisions, `members` with
  /// a deviation of 1.
  LinearPosterior prior(size_t members) const {
    const size_t effects = 1 + decisions_ * (1 + places_);
    const double scale = members > 0 ? kBesideMembers : 1;
    std::vector<double> means(effects + members);
    std::vector<double> deviations(means.size(), scale * kAtItsPlace);
    means[0] = level_;
    deviations[0] = kLevel;
    std::fill_n(deviations.begin() + 1, decisions_, scale * kEverywhere);
    std::fill_n(deviations.begin() + static_cast<ptrdiff_t>(effects), members, 1.0);
    return {means, deviations, kNoise};
  }

 private:
  size_t number_of(const std::optional<ChangeAtRate>& decision) const {
    if (!decision) return 0;
    const auto origin = static_cast<size_t>(decision->origin);
    const auto found = std::ranges::find(rates_, decision->rate);
    const auto rate = static_cast<size_t>(found - rates_.begin());
    return 1 + (static_cast<size_t>(decision->kind) * origins_ + origin) * rates_.size() + rate;
  }

  const std::vector<double>& rates_;
  size_t origins_, decisions_, places_;
  double level_;
};

/// By how much each member expects other than all, so that their covariance is that of the members.
std::vector<double> member_columns(const ExpectedPlan& plan) {
  std::vector<double> columns;
  const auto members = static_cast<double>(plan.by_member.size());
  for (const double expected : plan.by_member)
    columns.push_back((expected - plan.gain) / std::sqrt(std::max(1.0, members - 1)));
  return columns;
}

/// What is known of a plan of which the first decisions count.
std::vector<double> columns_of(const DecisionEffects& effects, const ExpectedPlan& plan,
                               size_t decisions) {
  std::vector<double> row = effects.row_of(std::span(plan.decisions).first(decisions));
  const std::vector<double> members = member_columns(plan);
  row.insert(row.end(), members.begin(), members.end());
  return row;
}

/// The best plan where these weights of its columns add to what is expected.
using BestPlan = std::function<ExpectedPlan(const std::vector<double>& weights)>;

Decisions sample_posterior(const AdaptStart& start, const DecisionEffects& effects, size_t members,
                           const BestPlan& best, int episodes, uint64_t seed) {
  REVERIE_CHECK(episodes > 0);
  LinearPosterior posterior = effects.prior(members);
  for (int episode = 0; episode < episodes; ++episode) {
    const Rng of_job = Rng(seed).fork(static_cast<uint64_t>(episode));
    Rng rng = of_job.fork(kDrawStream);
    const ExpectedPlan plan = best(posterior.draw(rng));
    const auto job = start.source->start(of_job.fork(kJobStream).bits());
    follow(plan.decisions, *start.source, *job);
    posterior.observe(columns_of(effects, plan, job->state().decisions.size()),
                      points_of(start, job->state()) - plan.gain);
  }
  return best(posterior.mean()).decisions;
}

}  // namespace

Decisions imagined(const AdaptStart& start, JobState first, const ChooseDecision& choose) {
  while (std::ssize(first.decisions) < start.source->decisions()) {
    const auto decision = choose(first.decisions.size(), choices_of(*start.source, first));
    first.network = after_decision(first.network, decision);
    first.decisions.push_back(decision);
  }
  return first.decisions;
}

void follow(const Decisions& plan, const JobSource& source, TrainingJob& job) {
  while (!job.state().over) {
    const size_t place = job.state().decisions.size();
    const Decisions choices = choices_of(source, job.state());
    const bool is_offered = place < plan.size() && std::ranges::count(choices, plan[place]) > 0;
    job.decide(is_offered ? plan[place] : std::nullopt);
  }
}

Decisions random_best(const AdaptStart& start, int episodes, uint64_t seed) {
  REVERIE_CHECK(episodes > 0);
  std::unique_ptr<TrainingJob> best;
  for (int episode = 0; episode < episodes; ++episode) {
    auto job = play_random(start, Rng(seed).fork(static_cast<uint64_t>(episode)));
    if (!best || points_of(start, job->state()) > points_of(start, best->state()))
      best = std::move(job);
  }
  return best->state().decisions;
}

Decisions successive_halving(const AdaptStart& start, int episodes, uint64_t seed) {
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
  return jobs.front()->state().decisions;
}

Decisions thompson(const AdaptStart& start, int episodes, uint64_t seed) {
  const JobState first = start.source->start(seed)->state();
  const DecisionEffects effects(start, first);
  const auto best = [&](const std::vector<double>& weights) {
    const auto choose = [&](size_t place, const Decisions& choices) {
      return std::ranges::max(choices, {}, [&](const auto& choice) {
        const auto [everywhere, at_its_place] = effects.columns(place, choice);
        return weights[everywhere] + weights[at_its_place];
      });
    };
    return ExpectedPlan{imagined(start, first, choose)};
  };
  return sample_posterior(start, effects, 0, best, episodes, seed);
}

Decisions thompson_among(const std::vector<ExpectedPlan>& plans, const AdaptStart& start,
                         int episodes, uint64_t seed) {
  REVERIE_CHECK(!plans.empty());
  const DecisionEffects effects(start, start.source->start(seed)->state());
  const auto best = [&](const std::vector<double>& weights) {
    return std::ranges::max(plans, {}, [&](const ExpectedPlan& plan) {
      const std::vector<double> row = columns_of(effects, plan, plan.decisions.size());
      return plan.gain + std::inner_product(row.begin(), row.end(), weights.begin(), 0.0);
    });
  };
  return sample_posterior(start, effects, plans.front().by_member.size(), best, episodes, seed);
}

}  // namespace reverie
