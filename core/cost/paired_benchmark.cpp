#include "core/cost/paired_benchmark.h"

#include <algorithm>
#include <limits>
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
    const std::vector<int> finalists = admitted(screened());
    if (finalists.empty()) return alone();
    hold_final(finalists);
    return result(finalists);
  }

 private:
  /// Its time is told all the same.
  BenchmarkResult alone() {
    if (times_[0].empty())
      for (int i = 0; i < options_.screening && (i == 0 || !out_of_time()); ++i) play_round({0});
    ratios_[0].clear();
    BenchmarkResult found = result({});
    found.contestants[0].ratio = {1, 1, 1, 0};
    found.contestants[0].finalist = true;
    return found;
  }

  /// All but contestant 0, the one that looks fastest first as far as more are left than finalists.
  std::vector<int> screened() {
    std::vector<int> ranked(times_.size() - 1);
    std::iota(ranked.begin(), ranked.end(), 1);
    const auto finalists = static_cast<size_t>(options_.finalists);
    for (size_t left = ranked.size(); left > finalists; left = std::max(finalists, left / 2)) {
      const std::vector<int> alive =
          beside_first({ranked.begin(), ranked.begin() + static_cast<int64_t>(left)});
      for (int i = 0; i < options_.screening && !out_of_screening_time(); ++i) play_round(alive);
      if (ratios_[static_cast<size_t>(alive[1])].empty()) play_round(alive);
      std::stable_sort(ranked.begin(), ranked.begin() + static_cast<int64_t>(left),
                       [&](int a, int b) { return ratio(a) < ratio(b); });
    }
    return ranked;
  }

  std::vector<int> admitted(const std::vector<int>& ranked) {
    const Stopwatch watch;
    std::vector<int> finalists;
    for (const int contestant : ranked)
      if (std::ssize(finalists) < options_.finalists && !options_.stop.requested() &&
          (!options_.admit || options_.admit(contestant)))
        finalists.push_back(contestant);
    if (options_.admit) seconds_ += watch.seconds();
    return finalists;
  }

  static std::vector<int> beside_first(std::vector<int> others) {
    others.insert(others.begin(), 0);
    return others;
  }

  void hold_final(const std::vector<int>& finalists) {
    const std::vector<int> alive = beside_first(finalists);
    for (const int contestant : alive) ratios_[static_cast<size_t>(contestant)].clear();
    int look = options_.max_rounds;
    for (int rounds = 0;; ++rounds) {
      if (rounds >= kFewestRounds && out_of_time()) return;
      if (rounds > 0 && options_.stop.requested()) return;
      if (rounds >= options_.min_rounds && narrow(finalists)) return;
      if (rounds >= look) {
        if (!undecided(finalists)) return;
        look *= 2;
      }
      play_round(alive);
    }
  }

  MedianInterval interval(int contestant) const {
    return median_interval(ratios_[static_cast<size_t>(contestant)]);
  }

  bool undecided(const std::vector<int>& finalists) const {
    return std::ranges::any_of(finalists, [&](int finalist) {
      const MedianInterval found = interval(finalist);
      return found.low < 1 && found.high >= 1;
    });
  }

  bool narrow(const std::vector<int>& finalists) const {
    return std::ranges::all_of(finalists, [&](int finalist) {
      return interval(finalist).spread() <= options_.target_spread;
    });
  }

  bool out_of_time() const { return seconds_ >= options_.max_seconds || options_.stop.requested(); }
  bool out_of_screening_time() const {
    return seconds_ >= options_.screening_seconds || out_of_time();
  }
  double ratio(int contestant) const { return median(ratios_[static_cast<size_t>(contestant)]); }

  std::vector<int> shuffled(std::vector<int> order) {
    shuffle(std::span(order), rng_);
    return order;
  }

  /// The first of them is contestant 0.
  void play_round(const std::vector<int>& alive) {
    auto next = alive.begin() + 1;
    do {
      const auto end = next + std::min<int64_t>(options_.together, alive.end() - next);
      play_together(beside_first({next, end}));
      next = end;
    } while (next != alive.end());
    ++rounds_;
    if (options_.on_round) options_.on_round(rounds_);
  }

  void play_together(const std::vector<int>& alive) {
    const Stopwatch watch;
    const std::unique_ptr<BenchmarkRound> round = new_round_(shuffled(alive));
    seconds_ += watch.seconds();
    for (const int contestant : alive)
      fallbacks_ = std::max(fallbacks_, round->fallbacks(contestant));
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
    for (int i = 0; i < options_.turns || total < options_.round_seconds; ++i) total += turn(true);
    for (const int contestant : alive) record(static_cast<size_t>(contestant), turns);
  }

  void record(size_t contestant, const std::vector<std::vector<double>>& turns) {
    const std::vector<double>& own = turns[contestant];
    ratios_[contestant].push_back(lower_quartile(own) / lower_quartile(turns[0]));
    times_[contestant].insert(times_[contestant].end(), own.begin(), own.end());
  }

  ContestantResult result_of(size_t contestant, bool finalist) const {
    const std::vector<double>& ratios = ratios_[contestant];
    ContestantResult result{.median = times_[contestant].empty() ? 0 : median(times_[contestant]),
                            .ratio = {1, 0, std::numeric_limits<double>::infinity(), 0},
                            .finalist = finalist};
    if (ratios.empty()) return result;
    const MedianInterval found = median_interval(ratios);
    result.ratio =
        finalist ? found
                 : MedianInterval{found.median, result.ratio.low, result.ratio.high, found.samples};
    result.quartiles = {quartile(ratios, 1), quartile(ratios, 3)};
    return result;
  }

  BenchmarkResult result(const std::vector<int>& finalists) const {
    BenchmarkResult result{.contestants = {}, .winner = 0, .fallbacks = fallbacks_};
    for (size_t i = 0; i < times_.size(); ++i)
      result.contestants.push_back(
          result_of(i, i == 0 || std::ranges::count(finalists, static_cast<int>(i)) > 0));
    for (const int i : finalists) {
      const MedianInterval& ratio = result.contestants[static_cast<size_t>(i)].ratio;
      const ContestantResult& best = result.contestants[static_cast<size_t>(result.winner)];
      if (ratio.high < 1 && ratio.median < best.ratio.median) result.winner = i;
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
  REVERIE_CHECK(options.together > 0);
  return PairedBenchmark(contestants, new_round, options).run();
}

}  // namespace reverie
