#include <algorithm>
#include <optional>
#include <utility>

#include "core/search/known_states.h"
#include "core/search/search_run.h"

namespace reverie {
namespace {

struct Candidate {
  Picoseconds cost;
  size_t parent = 0;  ///< in the beam
  RewriteStep step;
  Match match;
};

class BeamSearch {
 public:
  explicit BeamSearch(SearchRun& run) : run_(run), left_(run.options().budget) {}

  void search() {
    if (run_.options().greedy_first) begin_greedily(run_);
    beam_.push_back(run_.reached_start());
    known_.add(run_.start());
    while (!beam_.empty() && !run_.out_of_time()) {
      if (left_ == 0) {
        run_.out_of_budget();
        beam_.clear();
        return finish_greedily(run_);
      }
      if (left_ < static_cast<int64_t>(beam_.size()))
        beam_.erase(beam_.begin() + left_, beam_.end());
      left_ -= static_cast<int64_t>(beam_.size());
      choose(candidates());
    }
  }

 private:
  /// Of all states of the beam, the cheapest first; ties in the order of states and steps.
  std::vector<Candidate> candidates() {
    std::vector<std::vector<Candidate>> found(beam_.size());
    run_walks(run_, static_cast<int64_t>(beam_.size()), [&](SearchRun& part, int64_t i) {
      const auto parent = static_cast<size_t>(i);
      const Reached& from = beam_[parent];
      part.count_expansion();
      for_each_location(from.state, part, [&](const RewriteStep& step, const Match& match) {
        part.count_candidate();
        const Picoseconds cost = from.state.cost().runtime + from.state.cost_delta(match).runtime;
        if (part.allows(from, match)) found[parent].push_back({cost, parent, step, match});
      });
    });
    std::vector<Candidate> all;
    for (std::vector<Candidate>& some : found)
      std::move(some.begin(), some.end(), std::back_inserter(all));
    std::stable_sort(all.begin(), all.end(),
                     [](const Candidate& a, const Candidate& b) { return a.cost < b.cost; });
    return all;
  }

  /// The first new ones make up the next beam.
  void choose(const std::vector<Candidate>& candidates) {
    const auto width = static_cast<size_t>(run_.options().beam.width);
    std::vector<Reached> next;
    size_t at = 0;
    while (at < candidates.size() && next.size() < width && !run_.out_of_time()) {
      const size_t count = std::min(width - next.size(), candidates.size() - at);
      for (std::optional<Reached>& reached : build({&candidates[at], count})) {
        if (!reached) continue;
        if (run_.improves(reached->state.cost()))
          run_.improve(reached->state.cost(), reached->path);
        if (known_.add(reached->state)) {
          run_.reached(reached->state, reached->path);
          next.push_back(std::move(*reached));
        } else {
          run_.count_duplicate();
        }
      }
      at += count;
    }
    beam_ = std::move(next);
  }

  std::vector<std::optional<Reached>> build(std::span<const Candidate> candidates) {
    std::vector<std::optional<Reached>> built(candidates.size());
    run_walks(run_, static_cast<int64_t>(candidates.size()), [&](SearchRun& part, int64_t i) {
      const Candidate& candidate = candidates[static_cast<size_t>(i)];
      std::optional<Reached>& reached = built[static_cast<size_t>(i)];
      reached = successor(beam_[candidate.parent], candidate.step, candidate.match);
      part.count_step();
      reached->state.hash();  // kept for later, computed on this thread
    });
    return built;
  }

  SearchRun& run_;
  int64_t left_;
  std::vector<Reached> beam_;
  KnownStates known_;
};

}  // namespace

SearchResult beam_search(const RewriteState& start, const SearchOptions& options) {
  SearchRun run(start, options);
  BeamSearch(run).search();
  return run.finish();
}

}  // namespace reverie
