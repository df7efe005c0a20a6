#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "core/search/algorithms.h"
#include "core/search/known_states.h"

namespace reverie::search {
namespace {

/// A state of the beam.
struct Member {
  Reached at;
  double log_prior = 0;                        ///< summed along the path
  std::shared_ptr<const void> from = nullptr;  ///< Advice::memory of the state before
  Advice advice = {};                          ///< once the prior was asked
};

struct Candidate {
  double score = 0;
  double log_prior = 0;
  size_t parent = 0;  ///< in the beam
  Move move;
};

/// The candidates of one state of the beam, the best first, ties in the order of moves.
class Offers {
 public:
  Offers() = default;
  explicit Offers(std::vector<Candidate> all) : all_(std::move(all)) {
    std::stable_sort(all_.begin(), all_.end(),
                     [](const Candidate& a, const Candidate& b) { return a.score > b.score; });
  }
  /// Of a problem that keeps them in order, taken from there one after another: `ranked` must
  /// outlive this state of the beam, which costs `cost`.
  Offers(std::unique_ptr<RankedMoves> ranked, double cost, size_t parent)
      : ranked_(std::move(ranked)), cost_(cost), parent_(parent) {}

  /// The best that is left; null where none is. Counts those that it had to look at.
  const Candidate* first(SearchRun& run) {
    if (at_ == all_.size() && ranked_ != nullptr) {
      if (const std::optional<RatedMove> next = ranked_->next()) {
        run.count_candidate();
        all_.push_back({-(cost_ + next->change), 0, parent_, next->move});
      } else {
        ranked_ = nullptr;
      }
    }
    return at_ < all_.size() ? &all_[at_] : nullptr;
  }
  void pop() { ++at_; }

 private:
  std::vector<Candidate> all_;
  size_t at_ = 0;
  std::unique_ptr<RankedMoves> ranked_;
  double cost_ = 0;
  size_t parent_ = 0;
};

class BeamSearch {
 public:
  /// `guide` may be null: the cheapest are the best.
  BeamSearch(SearchRun& run, const Beam& beam, const BeamGuide* guide)
      : run_(run),
        width_(static_cast<size_t>(beam.width)),
        guide_(guide),
        left_(run.options().budget) {}

  void search() {
    beam_.push_back({.at = run_.reached_start()});
    known_.add(run_.start());
    while (!beam_.empty() && !run_.out_of_time()) {
      if (left_ == 0) return run_.out_of_budget();
      if (left_ < std::ssize(beam_)) beam_.erase(beam_.begin() + left_, beam_.end());
      left_ -= std::ssize(beam_);
      choose(offers());
    }
  }

 private:
  /// By the state of the beam.
  std::vector<Offers> offers() {
    if (guide_ != nullptr) ask();
    std::vector<Offers> all(beam_.size());
    run_walks(run_, std::ssize(beam_), [&](SearchRun& part, int64_t i) {
      part.count_expansion();
      all[static_cast<size_t>(i)] = offers_of(part, static_cast<size_t>(i));
      all[static_cast<size_t>(i)].first(part);
    });
    return all;
  }

  Offers offers_of(SearchRun& part, size_t place) const {
    const Problem& state = *beam_[place].at.state;
    if (guide_ == nullptr)
      if (auto ranked = state.ranked()) return {std::move(ranked), state.cost(), place};
    std::vector<Candidate> found;
    list(part, place, found);
    return Offers(std::move(found));
  }

  /// At most so many of the best of all; ties in the order of states and moves.
  std::vector<Candidate> best_of(std::vector<Offers>& offers, size_t most) {
    std::vector<Candidate> best;
    while (best.size() < most) {
      Offers* from = nullptr;
      const Candidate* first = nullptr;
      for (Offers& some : offers)
        if (const Candidate* one = some.first(run_);
            one != nullptr && (first == nullptr || one->score > first->score)) {
          first = one;
          from = &some;
        }
      if (first == nullptr) break;
      best.push_back(*first);
      from->pop();
    }
    return best;
  }

  void ask() {
    const auto batch = static_cast<size_t>(guide_->batch);
    for (size_t begin = 0; begin < beam_.size() && !run_.out_of_time(); begin += batch) {
      const auto members = std::span(beam_).subspan(begin, std::min(batch, beam_.size() - begin));
      std::vector<Arrival> arrivals;
      for (const Member& member : members) {
        const Path& path = member.at.path;
        arrivals.push_back({member.at.state.get(), static_cast<int>(path.size()), member.from,
                            path.empty() ? Move{} : path.back()});
      }
      std::vector<Advice> advice = guide_->prior.look(arrivals, run_.pool());
      for (size_t i = 0; i < members.size(); ++i) members[i].advice = std::move(advice[i]);
    }
  }

  void list(SearchRun& part, size_t place, std::vector<Candidate>& found) const {
    const Member& member = beam_[place];
    const Problem& from = *member.at.state;
    const auto add = [&](const Move& move, double log_prior) {
      part.count_candidate();
      found.push_back({score(from.cost() + from.change(move), log_prior), log_prior, place, move});
    };
    if (guide_ == nullptr) {
      for_each_candidate(from, part, [&](const Move& move) { add(move, 0); });
      return;
    }
    for (const AdvisedMove& advised : member.advice.moves)
      if (!part.out_of_time()) add(advised.move, member.log_prior + advised.log_prior);
  }

  double score(double cost, double log_prior) const {
    if (guide_ == nullptr) return -cost;
    const double initial = run_.initial_cost();
    const double gain = initial == 0 ? 0 : 100 * (initial - cost) / std::abs(initial);
    return log_prior + guide_->gain_weight * gain;
  }

  /// The first new ones make up the next beam.
  void choose(std::vector<Offers> offers) {
    std::vector<Member> next;
    while (next.size() < width_ && !run_.out_of_time()) {
      const std::vector<Candidate> chosen = best_of(offers, width_ - next.size());
      if (chosen.empty()) break;
      std::vector<Reached> built = build(chosen);
      for (size_t i = 0; i < built.size(); ++i)
        if (built[i].state != nullptr && enters(built[i]))
          next.push_back({.at = std::move(built[i]),
                          .log_prior = chosen[i].log_prior,
                          .from = beam_[chosen[i].parent].advice.memory});
    }
    beam_ = std::move(next);
  }

  bool enters(const Reached& reached) {
    const Problem& state = *reached.state;
    if (state.feasible() && run_.improves(state.cost())) run_.improve({state.cost(), reached.path});
    if (!known_.add(state)) {
      run_.count_duplicate();
      return false;
    }
    run_.reached(state, reached.path);
    return !state.over();
  }

  /// No state where a move is refused, or the time was over.
  std::vector<Reached> build(std::span<const Candidate> candidates) {
    std::vector<Reached> built(candidates.size());
    run_walks(run_, std::ssize(candidates), [&](SearchRun& part, int64_t i) {
      const Candidate& candidate = candidates[static_cast<size_t>(i)];
      Reached& reached = built[static_cast<size_t>(i)];
      reached = successor(beam_[candidate.parent].at, candidate.move);
      if (reached.state == nullptr) return;
      part.count_step();
      reached.state->hash();  // kept for later, computed on this thread
    });
    return built;
  }

  SearchRun& run_;
  size_t width_;
  const BeamGuide* guide_;
  int64_t left_;
  std::vector<Member> beam_;
  KnownStates known_;
};

}  // namespace

void Beam::operator()(SearchRun& run) const {
  if (greedy_first) begin_greedily(run);
  BeamSearch(run, *this, nullptr).search();
  if (finish && run.report().stopped_by == StoppedBy::kBudget) finish_greedily(run);
}

void run_guided_beam(SearchRun& run, const Beam& beam, const BeamGuide& guide) {
  if (beam.greedy_first) begin_greedily(run);
  BeamSearch(run, beam, &guide).search();
  if (beam.finish && !run.out_of_time()) finish_greedily(run);
}

}  // namespace reverie::search
