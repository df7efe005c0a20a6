#include "core/cost/contest.h"

#include <algorithm>
#include <numeric>

#include "core/base/error.h"
#include "core/base/shuffle.h"
#include "core/base/stopwatch.h"

namespace reverie {
namespace {

constexpr int kWarmUpRounds = 2;
constexpr int kFewestSittings = 6;  // below, the interval is no 95% interval

double quartile(std::vector<double> samples, size_t quarters) {
  const auto at = samples.begin() + static_cast<int64_t>(samples.size() * quarters / 4);
  std::nth_element(samples.begin(), at, samples.end());
  return *at;
}

double lower_quartile(std::vector<double> samples) { return quartile(std::move(samples), 1); }

class Contest {
 public:
  Contest(int contestants, const NewSitting& new_sitting, const ContestOptions& options)
      : new_sitting_(new_sitting),
        options_(options),
        rng_(options.seed),
        times_(static_cast<size_t>(contestants)),
        ratios_(static_cast<size_t>(contestants)) {}

  ContestResult run() {
    std::vector<int> alive(times_.size());
    std::iota(alive.begin(), alive.end(), 0);
    if (alive.size() == 1) return alone();
    screen(alive);
    hold_final(alive);
    return result(alive);
  }

 private:
  /// Its time is told all the same.
  ContestResult alone() {
    for (int i = 0; i < options_.screening; ++i) sit({0});
    return {{{.median = median(times_[0]), .ratio = {1, 1, 1, 0}, .finalist = true}}, 0, fallbacks_};
  }

  /// `alive` always begins with contestant 0.
  void screen(std::vector<int>& alive) {
    const auto finalists = static_cast<size_t>(options_.finalists);
    while (alive.size() - 1 > finalists) {
      for (int i = 0; i < options_.screening && !out_of_time(); ++i) sit(alive);
      if (ratios_[static_cast<size_t>(alive[1])].empty()) sit(alive);
      std::stable_sort(alive.begin() + 1, alive.end(),
                       [&](int a, int b) { return ratio(a) < ratio(b); });
      alive.resize(1 + std::max(finalists, (alive.size() - 1) / 2));
    }
  }

  void hold_final(const std::vector<int>& finalists) {
    for (const int finalist : finalists) ratios_[static_cast<size_t>(finalist)].clear();
    for (int sittings = 0; sittings < options_.max_sittings; ++sittings) {
      if (sittings >= kFewestSittings && out_of_time()) return;
      if (sittings > 0 && options_.stop.requested()) return;
      if (sittings >= options_.min_sittings && narrow(finalists)) return;
      sit(finalists);
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

  void sit(const std::vector<int>& alive) {
    const Stopwatch watch;
    const std::unique_ptr<Sitting> sitting = new_sitting_(shuffled(alive));
    seconds_ += watch.seconds();
    for (const int contestant : alive) fallbacks_ = std::max(fallbacks_, sitting->fallbacks(contestant));
    std::vector<std::vector<double>> rounds(times_.size());
    const auto round = [&](bool counts) {
      const Stopwatch of_round;
      double total = 0;
      for (const int contestant : shuffled(alive)) {
        const double seconds = std::max(sitting->run(contestant), 1e-9);
        total += seconds;
        if (counts) rounds[static_cast<size_t>(contestant)].push_back(seconds);
      }
      total = std::max(total, of_round.seconds());
      seconds_ += total;
      return total;
    };
    for (int i = 0; i < kWarmUpRounds; ++i) round(false);
    double total = 0;
    for (int i = 0; i < options_.rounds || total < options_.sitting_seconds; ++i)
      total += round(true);
    for (const int contestant : alive) record(static_cast<size_t>(contestant), rounds);
    ++sittings_;
    if (options_.on_sitting) options_.on_sitting(sittings_);
  }

  void record(size_t contestant, const std::vector<std::vector<double>>& rounds) {
    const std::vector<double>& own = rounds[contestant];
    ratios_[contestant].push_back(lower_quartile(own) / lower_quartile(rounds[0]));
    times_[contestant].insert(times_[contestant].end(), own.begin(), own.end());
  }

  ContestResult result(const std::vector<int>& finalists) const {
    ContestResult result{.standings = {}, .winner = 0, .fallbacks = fallbacks_};
    for (size_t i = 0; i < times_.size(); ++i)
      result.standings.push_back({median(times_[i]), median_interval(ratios_[i]),
                                  {quartile(ratios_[i], 1), quartile(ratios_[i], 3)}});
    for (const int i : finalists) {
      Standing& standing = result.standings[static_cast<size_t>(i)];
      standing.finalist = true;
      const Standing& best = result.standings[static_cast<size_t>(result.winner)];
      if (i != 0 && standing.ratio.high < 1 && standing.ratio.median < best.ratio.median)
        result.winner = i;
    }
    return result;
  }

  const NewSitting& new_sitting_;
  const ContestOptions& options_;
  Rng rng_;
  double seconds_ = 0;
  int sittings_ = 0;
  int fallbacks_ = 0;
  std::vector<std::vector<double>> times_;   // by contestant
  std::vector<std::vector<double>> ratios_;  // by contestant, one a sitting
};

}  // namespace

ContestResult hold_contest(int contestants, const NewSitting& new_sitting,
                           const ContestOptions& options) {
  REVERIE_CHECK(contestants > 0);
  REVERIE_CHECK(options.finalists > 0);
  REVERIE_CHECK(options.screening > 0);
  REVERIE_CHECK(options.rounds > 0);
  return Contest(contestants, new_sitting, options).run();
}

}  // namespace reverie
