#include "worldmodel/open_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/error.h"

namespace reverie {
namespace {

/// F1 of the class where both are true; 1 where there is nothing to find and nothing was claimed.
double f1(const torch::Tensor& predicted, const torch::Tensor& real) {
  const double hits = predicted.logical_and(real).sum().item<double>();
  const double claims = predicted.sum().item<double>() + real.sum().item<double>();
  return claims == 0 ? 1 : 2 * hits / claims;
}

double average(const torch::Tensor& x) { return x.to(torch::kDouble).mean().item<double>(); }

class OpenLoop {
 public:
  OpenLoop(const LatentEpisodes& data, const std::vector<int>& episodes, WorldModel& world,
           int max_starts)
      : world_(world),
        batch_(to_device(data.batch(episodes), world.device())),
        lengths_(batch_.continues().sum(1)),
        spread_(deviation(data.latents().z).to(world.device())) {
    const StartStates all = collect_starts(data, episodes, world, true);
    const int64_t count = std::min<int64_t>(max_starts, all.size());
    starts_ = select_rows(all, (torch::arange(count) * all.size() / count)
                                   .to(torch::kInt64)
                                   .to(world.device()));
    row_ = torch::searchsorted(torch::tensor(episodes, torch::kInt64).to(world.device()),
                               starts_.episode);
  }

  std::vector<OpenLoopRow> run(const std::vector<int>& steps) {
    std::vector<OpenLoopRow> rows;
    LatentState state = starts_.state;
    LatentMask mask = starts_.mask;
    auto predicted_sum = torch::zeros({starts_.size()}, state.latents.z.options());
    auto real_sum = predicted_sum.clone();
    const int last = *std::max_element(steps.begin(), steps.end());
    for (int k = 1; k <= last; ++k) {
      const auto t = (starts_.steps + (k - 1)).clamp_max(batch_.steps() - 1);
      const LatentActions actions = {at(batch_.actions.primary, t), at(batch_.actions.secondary, t)};
      const WorldPrediction next =
          world_.step(state, mask, actions, 0, torch::Generator(make_generator(0)));
      state.latents = next.latents;
      mask = next.mask;
      predicted_sum += next.reward;
      real_sum += at(batch_.reward, t);
      const auto inside = (starts_.steps + k).le(lengths_.index_select(0, row_));
      if (!inside.any().item<bool>()) break;
      if (std::find(steps.begin(), steps.end(), k) != steps.end())
        rows.push_back(score(k, inside.nonzero().squeeze(1), next, predicted_sum, real_sum));
    }
    return rows;
  }

 private:
  static torch::Tensor deviation(const torch::Tensor& latents) {
    ColumnStatistics statistics(latents.size(1));
    statistics.add(latents);
    return statistics.deviation();
  }

  torch::Tensor at(const torch::Tensor& x, const torch::Tensor& t) const {
    return x.index({row_, t});
  }

  double latent_error(const torch::Tensor& z, const torch::Tensor& real) const {
    return std::sqrt(average(((z - real) / spread_).square()));
  }

  OpenLoopRow score(int k, const torch::Tensor& rows, const WorldPrediction& next,
                    const torch::Tensor& predicted_sum, const torch::Tensor& real_sum) const {
    const auto take = [&](const torch::Tensor& x) { return x.index_select(0, rows); };
    const int64_t rules = world_.spec().env.no_op();
    const auto t = (starts_.steps + k).clamp_max(batch_.steps());
    const auto real_z = take(at(batch_.latents.z, t));
    const auto real = take(at(batch_.mask.counts, t)).narrow(1, 0, rules);
    const auto counts = take(next.mask.counts).narrow(1, 0, rules);
    const auto copied = take(starts_.mask.counts).narrow(1, 0, rules);
    OpenLoopRow row;
    row.k = k;
    row.starts = rows.size(0);
    row.latent_error = latent_error(take(next.latents.z), real_z);
    row.latent_error_copy = latent_error(take(starts_.state.latents.z), real_z);
    row.reward_error = average(take(predicted_sum - real_sum).abs());
    row.reward_magnitude = average(take(real_sum).abs());
    row.count_error = average((counts - real).abs());
    row.count_error_copy = average((copied - real).abs());
    row.present_f1 = f1(counts > 0, real > 0);
    row.present_f1_copy = f1(copied > 0, real > 0);
    row.absent_f1 = f1(counts == 0, real == 0);
    row.absent_f1_copy = f1(copied == 0, real == 0);
    return row;
  }

  WorldModel& world_;
  SequenceBatch batch_;
  torch::Tensor lengths_;  // steps after which the episode goes on
  torch::Tensor spread_;   // deviation of z over the data
  StartStates starts_;
  torch::Tensor row_;      // of each start's episode in batch_
};

template <class Visit>
void visit_columns(Visit&& visit) {
  visit("latent_error", &OpenLoopRow::latent_error);
  visit("latent_error_copy", &OpenLoopRow::latent_error_copy);
  visit("reward_error", &OpenLoopRow::reward_error);
  visit("reward_magnitude", &OpenLoopRow::reward_magnitude);
  visit("count_error", &OpenLoopRow::count_error);
  visit("count_error_copy", &OpenLoopRow::count_error_copy);
  visit("present_f1", &OpenLoopRow::present_f1);
  visit("present_f1_copy", &OpenLoopRow::present_f1_copy);
  visit("absent_f1", &OpenLoopRow::absent_f1);
  visit("absent_f1_copy", &OpenLoopRow::absent_f1_copy);
}

}  // namespace

std::vector<OpenLoopRow> open_loop(const LatentEpisodes& data, const std::vector<int>& episodes,
                                   WorldModel& world, const std::vector<int>& steps,
                                   int max_starts) {
  REVERIE_CHECK(std::is_sorted(episodes.begin(), episodes.end()) && !steps.empty());
  if (episodes.empty()) return {};
  torch::NoGradGuard guard;
  return OpenLoop(data, episodes, world, max_starts).run(steps);
}

std::string open_loop_json(const std::vector<OpenLoopRow>& rows) {
  auto list = nlohmann::ordered_json::array();
  for (const OpenLoopRow& row : rows) {
    nlohmann::ordered_json entry = {{"k", row.k}, {"starts", row.starts}};
    visit_columns([&](const char* name, auto member) { entry[name] = row.*member; });
    list.push_back(std::move(entry));
  }
  return list.dump(2);
}

std::string open_loop_table(const std::vector<OpenLoopRow>& rows) {
  std::string table = fmt::format("{:>3} {:>6}  {:>15}  {:>15}  {:>15}  {:>15}  {:>15}\n", "k",
                                  "starts", "latent (copy)", "reward (|sum|)", "counts (copy)",
                                  "F1 there (copy)", "F1 none (copy)");
  for (const OpenLoopRow& row : rows)
    table += fmt::format("{:>3} {:>6}  {:>6.3f} ({:>6.3f})  {:>6.3f} ({:>6.3f})  "
                         "{:>6.3f} ({:>6.3f})  {:>6.4f} ({:>6.4f})  {:>6.4f} ({:>6.4f})\n",
                         row.k, row.starts, row.latent_error, row.latent_error_copy,
                         row.reward_error, row.reward_magnitude, row.count_error,
                         row.count_error_copy, row.present_f1, row.present_f1_copy, row.absent_f1,
                         row.absent_f1_copy);
  return table;
}

}  // namespace reverie
