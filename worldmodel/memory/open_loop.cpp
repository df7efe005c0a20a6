#include "worldmodel/memory/open_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <string_view>

#include "core/base/error.h"
#include "core/base/statistics.h"
#include "worldmodel/network/fit.h"

namespace reverie {
namespace {

constexpr int64_t kStatesOfSpread = 2000;  // that the deviation of entities is taken over
constexpr int kMostEpisodes = 100;
constexpr std::string_view kOpenLoop = "open_loop/";  // before the names of scores

/// F1 of the class where both are true; 1 where there is nothing to find and nothing was claimed.
double f1(const torch::Tensor& predicted, const torch::Tensor& real) {
  const double hits = predicted.logical_and(real).sum().item<double>();
  const double claims = predicted.sum().item<double>() + real.sum().item<double>();
  return claims == 0 ? 1 : 2 * hits / claims;
}

/// As OpenLoopRow::change_error.
double change_error(const torch::Tensor& predicted, const torch::Tensor& real,
                    const torch::Tensor& copied) {
  const double changed = real.ne(copied).sum().item<double>();
  return changed == 0 ? 0 : predicted.ne(real).sum().item<double>() / changed;
}

std::vector<double> list_of(const torch::Tensor& x) {
  const auto values = x.to(torch::kCPU, torch::kDouble).contiguous();
  return {values.data_ptr<double>(), values.data_ptr<double>() + values.numel()};
}

/// Within each group [n] of two at least, weighted by its pairs; 0 where there is none.
double rank_within(const torch::Tensor& a, const torch::Tensor& b, const torch::Tensor& group) {
  std::map<double, std::pair<std::vector<double>, std::vector<double>>> groups;
  const std::vector<double> left = list_of(a), right = list_of(b), of = list_of(group);
  for (size_t i = 0; i < of.size(); ++i) {
    groups[of[i]].first.push_back(left[i]);
    groups[of[i]].second.push_back(right[i]);
  }
  double sum = 0, pairs = 0;
  for (const auto& [start, values] : groups) {
    const auto count = static_cast<double>(values.first.size());
    if (count < 2) continue;
    sum += count * (count - 1) * spearman(values.first, values.second);
    pairs += count * (count - 1);
  }
  return pairs > 0 ? sum / pairs : 0;
}

/// The start state of each episode of a data set.
torch::Tensor starts_of(const EpisodeSource& data) {
  std::vector<int64_t> starts;
  for (const Episode& episode : data.episodes()) starts.push_back(episode.start_graph);
  return torch::tensor(starts, torch::kInt64);
}

/// Mean reward of each of `steps` steps in training; 0 where no episode is as long.
torch::Tensor rewards_by_step(const EpisodeSource& data, int64_t steps) {
  auto sums = torch::zeros({steps}), counts = torch::zeros({steps});
  for (const int index : data.episodes_in(Split::kTrain)) {
    const auto& taken = data.episodes()[static_cast<size_t>(index)].steps;
    for (int64_t t = 0; t < std::min<int64_t>(steps, std::ssize(taken)); ++t) {
      sums.data_ptr<float>()[t] += taken[static_cast<size_t>(t)].reward;
      counts.data_ptr<float>()[t] += 1;
    }
  }
  return sums / counts.clamp_min(1);
}

double average(const torch::Tensor& x) { return x.to(torch::kDouble).mean().item<double>(); }

/// Deviation of what M predicts: of the latents of entities that have nodes.
torch::Tensor spread_of(const Latents& latents) {
  ColumnStatistics statistics(latents.z.size(1));
  const int64_t states = latents.z.size(0), some = std::min(states, kStatesOfSpread);
  const auto chosen =
      latents.entities.index_select(0, (torch::arange(some) * states / some).to(torch::kInt64))
          .flatten(0, 1);
  statistics.add(chosen, chosen.ne(0).any(-1, true).expand_as(chosen));
  return statistics.deviation();
}

/// Predictions from real states on, under the real actions.
class OpenLoop {
 public:
  OpenLoop(const LatentEpisodes& data, const std::vector<int>& episodes, WorldModel& world,
           const StartChoice& choice)
      : world_(world),
        batch_(to_device(data.batch(episodes), world.device())),
        spread_(spread_of(data.latents()).to(world.device())),
        starts_(collect_starts(data, episodes, world, choice)),
        row_(torch::searchsorted(torch::tensor(episodes, torch::kInt64).to(world.device()),
                                 starts_.episode)),
        ahead_(batch_.continues().sum(1).index_select(0, row_) - starts_.steps),
        rewards_(batch_.valid.sum(1).index_select(0, row_) - starts_.steps),
        state_(starts_.state),
        reached_{starts_.state.latents, torch::zeros_like(starts_.reward), {}, starts_.mask},
        real_sum_(torch::zeros_like(starts_.reward)),
        start_state_(starts_of(data.data()).to(world.device()).index_select(0, starts_.episode)),
        by_step_(rewards_by_step(data.data(), batch_.steps()).to(world.device())),
        step_sum_(torch::zeros_like(starts_.reward)) {}

  std::vector<OpenLoopRow> run(const std::vector<int>& steps) {
    std::vector<OpenLoopRow> rows;
    const int last = steps.empty() ? 0 : *std::max_element(steps.begin(), steps.end());
    for (int k = 1; k <= last; ++k) {
      step(k);
      const auto inside = ahead_.ge(k);
      if (!inside.any().item<bool>()) break;
      if (std::find(steps.begin(), steps.end(), k) != steps.end())
        rows.push_back(score(k, inside.nonzero().squeeze(1)));
    }
    return rows;
  }

  OpenLoopRow run_to_the_end() {
    const auto last = rewards_.max().item<int64_t>();
    for (int64_t k = 1; k <= last; ++k) step(k);
    return score(0, ahead_.ge(1).nonzero().squeeze(1));
  }

 private:
  torch::Tensor at(const torch::Tensor& x, const torch::Tensor& t) const {
    return x.index({row_, t});
  }

  /// Goes on from k - 1 to k steps; starts that have fewer ahead stay.
  void step(int64_t k) {
    const auto t = (starts_.steps + (k - 1)).clamp_max(batch_.steps() - 1);
    const LatentActions actions =
        map_tensors(batch_.actions, [&](const torch::Tensor& x) { return at(x, t); });
    const auto running = ahead_.ge(k);
    WorldPrediction next =
        world_.step(state_, reached_.mask, actions, 0, torch::Generator(make_generator(0)));
    state_.latents = next.latents;
    const auto paid = rewards_.ge(k);
    const auto sum = reached_.reward + next.reward * paid;
    next.end = torch::Tensor();
    reached_ = choose_rows(running, next, reached_);
    reached_.reward = sum;
    real_sum_ = real_sum_ + at(batch_.reward, t) * paid;
    step_sum_ = step_sum_ + by_step_.index_select(0, t) * paid;
  }

  double latent_error(const Latents& predicted, const Latents& real) const {
    const auto miss = predicted.entities - real.entities;
    return std::sqrt(average((miss / spread_).square()));
  }

  OpenLoopRow score(int k, const torch::Tensor& rows) const {
    const auto take = [&](const torch::Tensor& x) { return x.index_select(0, rows); };
    const int64_t actions = world_.spec().env.no_op();
    const auto t = starts_.steps + (k > 0 ? torch::full_like(ahead_, k) : ahead_);
    const auto within = t.clamp_max(batch_.steps());
    const auto then = [&](const torch::Tensor& x) { return take(at(x, within)); };
    const auto real_latents = map_tensors(batch_.latents, then);
    const LatentMask real_mask = map_tensors(batch_.mask, then);
    const LatentMask told_mask = select_rows(reached_.mask, rows),
                     copied_mask = select_rows(starts_.mask, rows);
    const auto counts_of = [&](const LatentMask& mask) {
      return mask.totals.narrow(1, 0, actions);
    };
    const auto finest_of = [&](const LatentMask& mask) {
      return mask.by_entity.narrow(1, 0, actions);
    };
    const auto real = counts_of(real_mask), counts = counts_of(told_mask),
               copied = counts_of(copied_mask);
    OpenLoopRow row;
    row.k = k;
    row.starts = rows.size(0);
    row.latent_error = latent_error(select_rows(reached_.latents, rows), real_latents);
    row.latent_error_copy = latent_error(select_rows(starts_.state.latents, rows), real_latents);
    row.reward_error = average(take(reached_.reward - real_sum_).abs());
    row.reward_magnitude = average(take(real_sum_).abs());
    row.rank_within = rank_within(take(reached_.reward), take(real_sum_), take(start_state_));
    row.rank_by_step = rank_within(take(step_sum_), take(real_sum_), take(start_state_));
    row.count_error = average((counts - real).abs());
    row.count_error_copy = average((copied - real).abs());
    row.change_error =
        change_error(finest_of(told_mask), finest_of(real_mask), finest_of(copied_mask));
    row.present_f1 = f1(counts > 0, real > 0);
    row.present_f1_copy = f1(copied > 0, real > 0);
    row.absent_f1 = f1(counts == 0, real == 0);
    row.absent_f1_copy = f1(copied == 0, real == 0);
    return row;
  }

  WorldModel& world_;
  SequenceBatch batch_;
  torch::Tensor spread_;
  StartStates starts_;
  torch::Tensor row_;      // of each start's episode in batch_
  torch::Tensor ahead_;    // steps of each start after which its episode goes on
  torch::Tensor rewards_;  // and its rewards, that of the last step included
  LatentState state_;
  WorldPrediction reached_;  // its reward the sum so far
  torch::Tensor real_sum_;
  torch::Tensor start_state_;         // of each start's episode
  torch::Tensor by_step_, step_sum_;  // what a table of rewards by step says, and its sum so far
};

template <class Visit>
void visit_columns(Visit&& visit) {
  visit("latent_error", &OpenLoopRow::latent_error);
  visit("latent_error_copy", &OpenLoopRow::latent_error_copy);
  visit("reward_error", &OpenLoopRow::reward_error);
  visit("reward_magnitude", &OpenLoopRow::reward_magnitude);
  visit("rank_within", &OpenLoopRow::rank_within);
  visit("rank_by_step", &OpenLoopRow::rank_by_step);
  visit("count_error", &OpenLoopRow::count_error);
  visit("count_error_copy", &OpenLoopRow::count_error_copy);
  visit("change_error", &OpenLoopRow::change_error);
  visit("present_f1", &OpenLoopRow::present_f1);
  visit("present_f1_copy", &OpenLoopRow::present_f1_copy);
  visit("absent_f1", &OpenLoopRow::absent_f1);
  visit("absent_f1_copy", &OpenLoopRow::absent_f1_copy);
}

}  // namespace

std::vector<OpenLoopRow> open_loop(const LatentEpisodes& data, const std::vector<int>& episodes,
                                   WorldModel& world, const std::vector<int>& steps,
                                   int max_starts) {
  REVERIE_CHECK(std::is_sorted(episodes.begin(), episodes.end()));
  if (episodes.empty()) return {};
  torch::NoGradGuard guard;
  const auto some = thin(episodes, kMostEpisodes);
  auto rows = OpenLoop(data, some, world, {.most = max_starts}).run(steps);
  const OpenLoopRow whole =
      OpenLoop(data, some, world, {.first_only = true, .most = max_starts}).run_to_the_end();
  if (whole.starts > 0) rows.push_back(whole);
  return rows;
}

void put_open_loop(Checkpoint& checkpoint, const std::vector<OpenLoopRow>& rows) {
  for (const OpenLoopRow& row : rows) {
    const auto name = [&](const char* column) {
      return fmt::format("{}{}/{}", kOpenLoop, row.k, column);
    };
    checkpoint.scores[name("starts")] = static_cast<double>(row.starts);
    visit_columns([&](const char* column, auto member) {
      if (std::isfinite(row.*member)) checkpoint.scores[name(column)] = row.*member;
    });
  }
}

std::vector<OpenLoopRow> get_open_loop(const Checkpoint& checkpoint) {
  std::map<int, OpenLoopRow> rows;
  for (const auto& [name, value] : checkpoint.scores) {
    if (!name.starts_with(kOpenLoop)) continue;
    const size_t slash = name.find('/', kOpenLoop.size());
    const int k = std::atoi(name.c_str() + kOpenLoop.size());
    OpenLoopRow& row = rows[k == 0 ? std::numeric_limits<int>::max() : k];
    row.k = k;
    const std::string column = name.substr(slash + 1);
    if (column == "starts") row.starts = std::llround(value);
    visit_columns([&](const char* known, auto member) {
      if (column == known) row.*member = value;
    });
  }
  std::vector<OpenLoopRow> list;
  for (auto& [key, row] : rows) list.push_back(row);
  return list;
}

Json open_loop_json(const std::vector<OpenLoopRow>& rows) {
  Json::Array list;
  for (const OpenLoopRow& row : rows) {
    Json entry = {{"k", row.k}, {"starts", row.starts}};
    visit_columns([&](const char* name, auto member) { entry[name] = row.*member; });
    list.push_back(std::move(entry));
  }
  return list;
}

std::string open_loop_table(const std::vector<OpenLoopRow>& rows) {
  std::string table =
      fmt::format("{:>3} {:>6}  {:>15}  {:>15}  {:>14}  {:>15}  {:>8}  {:>15}  {:>15}\n", "k",
                  "starts", "latent (copy)", "reward (|sum|)", "rank (by step)", "counts (copy)",
                  "changes", "F1 there (copy)", "F1 none (copy)");
  for (const OpenLoopRow& row : rows)
    table += fmt::format(
        "{:>3} {:>6}  {:>6.3f} ({:>6.3f})  {:>6.3f} ({:>6.3f})  {:>6.2f} ({:>5.2f})  "
        "{:>6.3f} ({:>6.3f})  {:>8.3f}  {:>6.4f} ({:>6.4f})  {:>6.4f} ({:>6.4f})\n",
        row.k > 0 ? std::to_string(row.k) : "all", row.starts, row.latent_error,
        row.latent_error_copy, row.reward_error, row.reward_magnitude, row.rank_within,
        row.rank_by_step, row.count_error, row.count_error_copy, row.change_error, row.present_f1,
        row.present_f1_copy, row.absent_f1, row.absent_f1_copy);
  return table;
}

}  // namespace reverie
