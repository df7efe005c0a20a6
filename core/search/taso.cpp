#include <memory>
#include <queue>
#include <unordered_map>
#include <utility>

#include "core/base/error.h"
#include "core/ir/structural_hash.h"
#include "core/search/search_run.h"

namespace reverie {
namespace {

struct Expanded {
  RewriteState state;
  int64_t weight_bytes = 0;
  std::vector<RewriteStep> path;
};

/// A successor that is not built before its turn comes.
struct Candidate {
  Picoseconds cost;
  int64_t order = 0;  ///< of generation; ties go to the older
  std::shared_ptr<const Expanded> parent;
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
    auto root = std::make_shared<Expanded>(
        Expanded{run_.start(), run_.start_weight_bytes(), {}});
    first_visit(root->state);
    int64_t left = run_.options().budget;
    for (std::shared_ptr<const Expanded> next = root; next; next = pop()) {
      if (run_.out_of_time()) return;
      if (left-- == 0) {
        run_.out_of_budget();
        return finish();
      }
      run_.count_expansion();
      expand(next);
    }
  }

 private:
  /// Whether the state was never reached before; remembers it.
  bool first_visit(const RewriteState& state) {
    std::vector<Graph>& known = visited_[state.hash()];
    for (const Graph& graph : known)
      if (isomorphic(graph, state.graph())) return false;
    known.push_back(state.graph());
    return true;
  }

  bool promising(Picoseconds cost) const {
    return static_cast<double>(cost.count) <
           run_.options().alpha * static_cast<double>(run_.best_cost().runtime.count);
  }

  void expand(const std::shared_ptr<const Expanded>& parent) {
    const RewriteState& state = parent->state;
    for (int rule = 0; rule < state.rules().size(); ++rule) {
      const std::vector<Match>& locations = state.locations(rule);
      for (size_t i = 0; i < locations.size(); ++i) {
        if (run_.out_of_time()) return;
        consider(parent, {rule, static_cast<int>(i)}, locations[i]);
      }
    }
  }

  void consider(const std::shared_ptr<const Expanded>& parent, RewriteStep step,
                const Match& match) {
    run_.count_candidate();
    const Cost cost = parent->state.cost() + parent->state.cost_delta(match);
    if (!promising(cost.runtime) || !allowed(*parent, match)) return;
    if (run_.improves(cost)) {
      std::vector<RewriteStep> path = parent->path;
      path.push_back(step);
      run_.improve(cost, std::move(path));
    }
    queue_.push({cost.runtime, generated_++, parent, step, match});
  }

  bool allowed(const Expanded& parent, const Match& match) const {
    if (run_.options().max_weight_growth <= 0) return true;
    return run_.allows_weights(parent.weight_bytes + parent.state.propose(match).weight_bytes_delta);
  }

  /// The cheapest candidate that is still promising and new; null when none is left.
  std::shared_ptr<const Expanded> pop() {
    while (!queue_.empty() && !run_.out_of_time()) {
      const Candidate candidate = queue_.top();
      queue_.pop();
      if (!promising(candidate.cost)) break;  // nor is any that follows
      auto next = std::make_shared<Expanded>(*candidate.parent);
      const Rewrite rewrite = next->state.propose(candidate.match);
      next->state.commit(rewrite);
      run_.count_step();
      next->weight_bytes += rewrite.weight_bytes_delta;
      next->path.push_back(candidate.step);
      if (first_visit(next->state)) return next;
      run_.count_duplicate();
    }
    return nullptr;
  }

  void finish() {
    if (!run_.options().finish) return;
    queue_ = {};
    Walk walk(run_);
    const std::vector<RewriteStep> path = run_.best_path();
    for (const RewriteStep& step : path) walk.take(step);
    descend(walk, run_);
  }

  SearchRun& run_;
  std::priority_queue<Candidate> queue_;
  std::unordered_map<uint64_t, std::vector<Graph>> visited_;
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
