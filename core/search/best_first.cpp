#include "core/search/best_first.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/search/known_states.h"

namespace reverie {
namespace {

/// A successor that is not built before its turn comes.
struct Candidate {
  double cost = 0;
  int64_t order = 0;  ///< of generation; ties go to the older
  std::shared_ptr<const Reached> parent;
  Move move;

  bool operator<(const Candidate& other) const {  // the cheapest is the greatest
    return cost == other.cost ? order > other.order : cost > other.cost;
  }
};

struct Successor {
  Move move;
  double cost = 0;
};

bool is_feasible(const Reached& from, const Move& move) {
  return !from.state->may_be_infeasible() || successor(from, move).state->feasible();
}

double times(double factor, double cost) { return cost < 0 ? cost / factor : factor * cost; }

/// A candidate built, and what it leads to unless it was known already.
struct Expansion {
  std::shared_ptr<const Reached> at;
  bool known = false;
  int64_t candidates = 0;
  int64_t dropped = 0;
  std::vector<Successor> successors;  ///< those that may enter the queue
};

class BestFirstSearch {
 public:
  BestFirstSearch(SearchRun& run, const BestFirst& how)
      : run_(run),
        how_(how),
        threads_(static_cast<size_t>(run.options().threads)),
        known_(how.states) {}

  BestFirstEnd search() {
    Expansion first;
    first.at = std::make_shared<const Reached>(run_.reached_start());
    if (how_.expand_once) known_.add(*first.at->state);
    list_successors(first, run_);
    for (int64_t left = how_.budget; left > 0; --left) {
      if (run_.out_of_time()) return end_;
      run_.count_expansion();
      enter(first);
      if (!next(first)) {
        end_.exhausted = !run_.out_of_time();
        return end_;
      }
    }
    if (!run_.out_of_time()) run_.out_of_budget();
    return end_;
  }

 private:
  double limit() const {
    const auto of = [](double factor, double cost) {
      return std::isinf(factor) ? factor : times(factor, cost);
    };
    return std::min(of(how_.alpha, run_.best_cost()),
                    std::nextafter(of(how_.bound, run_.initial_cost()),
                                   std::numeric_limits<double>::infinity()));
  }

  /// Those below the limit as it is now; it only falls.
  void list_successors(Expansion& expansion, SearchRun& part) const {
    const Reached& from = *expansion.at;
    const double limit_now = limit();
    const double cost_now = from.state->cost();
    for_each_candidate(*from.state, part, [&](const Move& move) {
      ++expansion.candidates;
      const double cost = cost_now + from.state->change(move);
      if (!(cost < limit_now))
        ++expansion.dropped;
      else if (from.state->allows(move))
        expansion.successors.push_back({move, cost});
    });
  }

  void enter(const Expansion& expansion) {
    run_.count_candidates(expansion.candidates);
    end_.dropped |= expansion.dropped > 0;
    for (const auto& [move, cost] : expansion.successors) {
      if (!(cost < limit())) {
        end_.dropped = true;
        continue;
      }
      if (run_.improves(cost) && is_feasible(*expansion.at, move)) {
        Path path = expansion.at->path;
        path.push_back(move);
        run_.improve({cost, std::move(path)});
      }
      queue_.push_back({cost, generated_++, expansion.at, move});
      std::push_heap(queue_.begin(), queue_.end());
    }
    if (++parents_ > how_.states) make_room();
  }

  /// Counts the states that the queue holds, and drops its dearest until three quarters of those
  /// allowed are left.
  void make_room() {
    std::sort_heap(queue_.begin(), queue_.end());
    std::reverse(queue_.begin(), queue_.end());  // a heap as well
    std::unordered_set<const Reached*> parents;
    size_t kept = 0;
    for (; kept < queue_.size(); ++kept) {
      parents.insert(queue_[kept].parent.get());
      if (static_cast<int64_t>(parents.size()) > std::max<int64_t>(how_.states * 3 / 4, 1)) break;
    }
    run_.count_forgotten(static_cast<int64_t>(queue_.size() - kept));
    end_.dropped |= kept < queue_.size();
    queue_.resize(kept);
    parents_ = static_cast<int64_t>(parents.size());
    ahead_.clear();
  }

  Candidate pop() {
    std::pop_heap(queue_.begin(), queue_.end());
    Candidate candidate = std::move(queue_.back());
    queue_.pop_back();
    return candidate;
  }

  bool in_question(const Candidate& candidate) const {
    return !how_.expand_once || candidate.cost <= limit();
  }

  /// The expansion whose turn it is; false when there is none.
  bool next(Expansion& expansion) {
    while (!queue_.empty() && !run_.out_of_time()) {
      if (!in_question(queue_.front())) {  // nor is any that follows
        end_.dropped = true;
        return false;
      }
      look_ahead();
      expansion = std::move(ahead_.extract(pop().order).mapped());
      if (expansion.at == nullptr) return false;  // out of time
      run_.count_step();
      const Problem& state = *expansion.at->state;
      if (expansion.known || (how_.expand_once && !known_.add(state))) {
        run_.count_duplicate();
        continue;
      }
      run_.reached(state, expansion.at->path);
      if (state.lower_bound() < run_.best_cost()) return true;
    }
    return false;
  }

  /// Makes sure that the first of the queue is expanded; with it go as many as there are threads.
  void look_ahead() {
    if (ahead_.contains(queue_.front().order)) return;
    std::vector<Candidate> seen, chosen;
    while (!queue_.empty() && chosen.size() < threads_ && seen.size() < 4 * threads_ &&
           in_question(queue_.front())) {
      seen.push_back(pop());
      if (!ahead_.contains(seen.back().order)) chosen.push_back(seen.back());
    }
    std::vector<Expansion> expansions(chosen.size());
    run_walks(run_, static_cast<int64_t>(chosen.size()), [&](SearchRun& part, int64_t i) {
      expansions[static_cast<size_t>(i)] = expand(chosen[static_cast<size_t>(i)], part);
    });
    for (size_t i = 0; i < chosen.size(); ++i)
      ahead_.emplace(chosen[i].order, std::move(expansions[i]));
    for (Candidate& candidate : seen) {
      queue_.push_back(std::move(candidate));
      std::push_heap(queue_.begin(), queue_.end());
    }
  }

  Expansion expand(const Candidate& candidate, SearchRun& part) const {
    Expansion expansion;
    expansion.at = std::make_shared<const Reached>(successor(*candidate.parent, candidate.move));
    expansion.known = how_.expand_once && known_.contains(*expansion.at->state);
    if (!expansion.known) list_successors(expansion, part);
    return expansion;
  }

  SearchRun& run_;
  const BestFirst& how_;
  const size_t threads_;
  BestFirstEnd end_;
  std::vector<Candidate> queue_;                  // a heap
  std::unordered_map<int64_t, Expansion> ahead_;  // by the order of its candidate
  KnownStates known_;
  int64_t generated_ = 0;
  int64_t parents_ = 0;  // of the queue's candidates, at most
};

}  // namespace

BestFirstEnd search_best_first(SearchRun& run, const BestFirst& how) {
  // The queue goes down greedy search's path, but where moves are kept in order greedy search does
  // so in much less time.
  std::optional<SearchRun> greedy;
  if (run.options().time_limit > 0 && run.start().ranked() != nullptr)
    begin_greedily(greedy.emplace(run.part()));
  const BestFirstEnd end = BestFirstSearch(run, how).search();
  if (greedy && run.must_stop()) run.merge(std::move(*greedy));
  return end;
}

}  // namespace reverie
