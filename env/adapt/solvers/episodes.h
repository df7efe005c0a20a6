#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "env/adapt/adapt_task.h"

namespace reverie {

/// Chooses an action where the environment stands.
using Choose = std::function<Action(const Environment&)>;

/// An episode of a task's environment.
Result play_episode(const Task& task, uint64_t seed, const Choose& choose);

/// The job that an episode of a task stands in.
const JobState& job_in(const Environment& environment);

/// It plays one episode.
class EpisodeSolver : public AdaptSolver {
 public:
  using Chooser = Choose (*)(uint64_t seed);
  EpisodeSolver(std::string name, std::string what, Chooser chooser)
      : AdaptSolver(std::move(name), std::move(what)), chooser_(chooser) {}

  Result run(const Task& task, const SearchOptions& limits, const SolverSettings&) const override {
    return play_episode(task, limits.seed, chooser_(limits.seed));
  }

 private:
  Chooser chooser_;
};

}  // namespace reverie
