#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/rules/rewrite_state.h"
#include "core/search/search_run.h"
#include "env/rewrite/search/search.h"

namespace reverie {

struct GraphSnapshot : Snapshot {
  GraphSnapshot(const Graph& state, const Cost& state_cost) : graph(state), cost(state_cost) {}
  Graph graph;
  Cost cost;
};

/// Rewriting a graph: a move applies a rule (its kind) at a location (its index), costs are
/// picoseconds of run time. A move that takes the bytes of weights above their bound is refused.
/// Candidates are one location of each class of those that look alike where the options say so.
class RewriteProblem : public Problem {
 public:
  RewriteProblem(RewriteState start, const RewriteSearchOptions& options);
  RewriteProblem(const RewriteProblem& other);

  const RewriteState& state() const { return state_; }
  /// Of the bytes of weights.
  int64_t weight_limit() const { return weight_limit_; }

  std::unique_ptr<Problem> copy() const override;
  double cost() const override { return static_cast<double>(state_.cost().runtime.count); }
  int kinds() const override { return state_.rules().size(); }
  int moves(int rule) const override { return state_.location_count(rule); }
  int candidates(int rule) const override;
  Move candidate(int rule, int i) const override;
  bool leaves_out() const override { return classes_; }
  double change(const Move& move) const override;
  std::unique_ptr<RankedMoves> ranked() const override;
  bool allows(const Move& move) const override;
  bool apply(const Move& move) override;
  uint64_t hash() const override { return state_.hash(); }
  std::shared_ptr<const Snapshot> snapshot() const override;
  bool is(const Snapshot& snapshot) const override;

 private:
  Match match(const Move& move) const;

  RewriteState state_;
  bool classes_ = false;
  bool bounded_ = false;
  int64_t weight_limit_ = 0;
  int64_t weight_bytes_ = 0;
  // Of the rule whose candidates were asked for last, until the next step.
  mutable int listed_rule_ = -1;
  mutable const std::vector<Match>* listed_ = nullptr;
};

/// The state of a RewriteProblem.
const RewriteState& rewrite_state(const Problem& problem);
std::vector<RewriteStep> steps_of(const Path& path);
Path path_of(std::span<const RewriteStep> steps);

// Of a run over a RewriteProblem:
/// Of the bytes of weights.
int64_t weight_limit(const SearchRun& run);
Graph best_graph(const SearchRun& run);
/// Records a new best that no path led to.
void improve_by(SearchRun& run, const Cost& cost, const Graph& graph);

/// What a run over a RewriteProblem from `start` found, with graphs.
SearchResult search_result(const Problem& start, SearchOutcome found);

/// A run over rewrites, whose result has graphs.
class RewriteRun : public SearchRun {
 public:
  /// `options` must outlive this; its `on_state` is told of states.
  RewriteRun(const RewriteState& start, const RewriteSearchOptions& options);

  const RewriteState& start_state() const { return rewrite_state(start()); }
  bool allows_weights(int64_t bytes) const { return bytes <= weight_limit(*this); }
  /// Notes a state that something else reached: tells whoever listens, and records it where it is
  /// the best.
  void note(const RewriteState& state, std::span<const RewriteStep> path);

  /// Builds the best graph. Call once, at the end.
  SearchResult finish();

 private:
  const RewriteSearchOptions& options_;
};

}  // namespace reverie
