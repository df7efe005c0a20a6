#include "core/cost/paired_benchmark.h"

#include <algorithm>
#include <numeric>

#include "core/base/error.h"
#include "core/base/shuffle.h"
#include "core/base/stopwatch.h"

namespace reverie {
namespace {

constexpr int kWarmUpTurns = 2;
constexpr int kFewestRounds = 6;  // below, the interval is no 95% interval

double quartile(std::vector<double> samples, size_t quarters) {
  const auto at = samples.begin() + static_cast<int64_t>(samples.size() * quarters / 4);
  std::nth_element(samples.begin(), at, samples.end());
  return *at;
}

double lower_quartile(std::vector<double> samples) { return quartile(std::move(samples), 1); }

class PairedBenchmark {
 public:
  PairedBenchmark(int contestants, const NewRound& new_round, const BenchmarkOptions& options)
      : new_round_(new_round),
        options_(options),
        rng_(options.seed),
        times_(static_cast<size_t>(contestants)),
        ratios_(static_cast<size_t>(contestants)) {}

  BenchmarkResult run() {
    std::vector<int> alive(times_.size());
    std::iota(alive.begin(), alive.end(), 0);
    if (alive.size() == 1) return alone();
    screen(alive);
    hold_final(alive);
    return result(alive);
  }

 private:
  /// Its time is told all the same.
  BenchmarkResult alone() {
    for (int i = 0; i < options_.screening; ++i) play_round({0});
    return {{{.median = median(times_[0]), .ratio = {1, 1, 1, 0}, .finalist = true}}, 0, fallbacks_};
  }

  /// `alive` always begins with contestant 0.
  void screen(std::vector<int>& alive) {
    const auto finalists = static_cast<size_t>(options_.finalists);
    while (alive.size() - 1 > finalists) {
      for (int i = 0; i < options_.screening && !out_of_time(); ++i) play_round(alive);
      if (ratios_[static_cast<size_t>(alive[1])].empty()) play_round(alive);
      std::stable_sort(alive.begin() + 1, alive.end(),
                       [&](int a, int b) { return ratio(a) < ratio(b); });
      alive.resize(1 + std::max(finalists, (alive.size() - 1) / 2));
    }
  }

  void hold_final(const std::vector<int>& finalists) {
    for (const int finalist : finalists) ratios_[static_cast<size_t>(finalist)].clear();
    for (int rounds = 0; rounds < options_.max_rounds; ++rounds) {
      if (rounds >= kFewestRounds && out_of_time()) return;
      if (rounds > 0 && options_.stop.requested()) return;
      if (rounds >= options_.min_rounds && narrow(finalists)) return;
      play_round(finalists);
    }
  }

  bool narrow(const std::vector<int>& finalists) const {
    return std::all_of(finalists.begin(), finalists.end(), [&](int finalist) {
      return median_interval(ratios_[static_cast<size_t>(finalist)]).spread() <=
             options_.target_spread;
    });
  }

  bool out_of_time() const {
    return seconds_ >= options_.max_seconds || options_.stop.requested();
  }
  double ratio(int contestant) const { return median(ratios_[static_cast<size_t>(contestant)]); }

  std::vector<int> shuffled(std::vector<int> order) {
    shuffle(std::span(order), rng_);
    return order;
  }

  void play_round(const std::vector<int>& alive) {
    const Stopwatch watch;
    const std::unique_ptr<BenchmarkRound> round = new_round_(shuffled(alive));
    seconds_ += watch.seconds();
    for (const int contestant : alive) fallbacks_ = std::max(fallbacks_, round->fallbacks(contestant));
    std::vector<std::vector<double>> turns(times_.size());
    const auto turn = [&](bool counts) {
      const Stopwatch of_turn;
      double total = 0;
      for (const int contestant : shuffled(alive)) {
        const double seconds = std::max(round->run(contestant), 1e-9);
        total += seconds;
        if (counts) turns[static_cast<size_t>(contestant)].push_back(seconds);
      }
      total = std::max(total, of_turn.seconds());
      seconds_ += total;
      return total;
    };
    for (int i = 0; i < kWarmUpTurns; ++i) turn(false);
    double total = 0;
    for (int i = 0; i < options_.turns || total < options_.round_seconds; ++i)
      total += turn(true);
    for (const int contestant : alive) record(static_cast<size_t>(contestant), turns);
    ++rounds_;
    if (options_.on_round) options_.on_round(rounds_);
  }

  void record(size_t contestant, const std::vector<std::vector<double>>& turns) {
    const std::vector<double>& own = turns[contestant];
    ratios_[contestant].push_back(lower_quartile(own) / lower_quartile(turns[0]));
    times_[contestant].insert(times_[contestant].end(), own.begin(), own.end());
  }

  BenchmarkResult result(const std::vector<int>& finalists) const {
    BenchmarkResult result{.contestants = {}, .winner = 0, .fallbacks = fallbacks_};
    for (size_t i = 0; i < times_.size(); ++i)
      result.contestants.push_back({median(times_[i]), median_interval(ratios_[i]),
                                    {quartile(ratios_[i], 1), quartile(ratios_[i], 3)}});
    for (const int i : finalists) {
      ContestantResult& timed = result.contestants[static_cast<size_t>(i)];
      timed.finalist = true;
      const ContestantResult& best = result.contestants[static_cast<size_t>(result.winner)];
      if (i != 0 && timed.ratio.high < 1 && timed.ratio.median < best.ratio.median)
        result.winner = i;
    }
    return result;
  }

  const NewRound& new_round_;
  const BenchmarkOptions& options_;
  Rng rng_;
  double seconds_ = 0;
  int rounds_ = 0;
  int fallbacks_ = 0;
  std::vector<std::vector<double>> times_;   // by contestant
  std::vector<std::vector<double>> ratios_;  // by contestant, one a round
};

}  // namespace

BenchmarkResult run_paired_benchmark(int contestants, const NewRound& new_round,
                                     const BenchmarkOptions& options) {
  REVERIE_CHECK(contestants > 0);
  REVERIE_CHECK(options.finalists > 0);
  REVERIE_CHECK(options.screening > 0);
  REVERIE_CHECK(options.turns > 0);
  return PairedBenchmark(contestants, new_round, options).run();
}

}  // namespace reverie
