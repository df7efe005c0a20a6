#include <memory>
#include <queue>
#include <utility>

#include "core/base/error.h"
#include "core/search/known_states.h"
#include "core/search/search_run.h"

namespace reverie {
namespace {

/// A successor that is not built before its turn comes.
struct Candidate {
  Picoseconds cost;
  int64_t order = 0;  ///< of generation; ties go to the older
  std::shared_ptr<const Reached> parent;
  RewriteStep step;
  Match match;

  bool operator<(const Candidate& other) const {  // the cheapest is the greatest
    return cost == other.cost ? order > other.order : cost > other.cost;
  }
};

class TasoSearch {
 public:
  explicit TasoSearch(SearchRun& run) : run_(run) {}

  void search() {
    auto root = std::make_shared<Reached>(run_.reached_start());
    known_.add(root->state);
    int64_t left = run_.options().budget;
    for (std::shared_ptr<const Reached> next = root; next; next = pop()) {
      if (run_.out_of_time()) return;
      if (left-- == 0) {
        run_.out_of_budget();
        queue_ = {};
        return finish_greedily(run_);
      }
      run_.count_expansion();
      expand(next);
    }
  }

 private:
  bool promising(Picoseconds cost) const {
    return static_cast<double>(cost.count) <
           run_.options().alpha * static_cast<double>(run_.best_cost().runtime.count);
  }

  void expand(const std::shared_ptr<const Reached>& parent) {
    for_each_location(parent->state, run_, [&](const RewriteStep& step, const Match& match) {
      consider(parent, step, match);
    });
  }

  void consider(const std::shared_ptr<const Reached>& parent, RewriteStep step,
                const Match& match) {
    run_.count_candidate();
    const Cost cost = parent->state.cost() + parent->state.cost_delta(match);
    if (!promising(cost.runtime) || !run_.allows(*parent, match)) return;
    if (run_.improves(cost)) {
      std::vector<RewriteStep> path = parent->path;
      path.push_back(step);
      run_.improve(cost, std::move(path));
    }
    queue_.push({cost.runtime, generated_++, parent, step, match});
  }

  /// The cheapest candidate that is still promising and new; null when none is left.
  std::shared_ptr<const Reached> pop() {
    while (!queue_.empty() && !run_.out_of_time()) {
      const Candidate candidate = queue_.top();
      queue_.pop();
      if (!promising(candidate.cost)) break;  // nor is any that follows
      auto next = std::make_shared<const Reached>(
          successor(*candidate.parent, candidate.step, candidate.match, run_));
      if (known_.add(next->state)) return next;
      run_.count_duplicate();
    }
    return nullptr;
  }

  SearchRun& run_;
  std::priority_queue<Candidate> queue_;
  KnownStates known_;
  int64_t generated_ = 0;
};

}  // namespace

SearchResult taso_search(const RewriteState& start, const SearchOptions& options) {
  if (options.alpha < 1) throw InputError("alpha must be at least 1, not {}", options.alpha);
  SearchRun run(start, options);
  TasoSearch(run).search();
  return run.finish();
}

}  // namespace reverie
