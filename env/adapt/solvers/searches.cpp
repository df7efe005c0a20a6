#include "env/adapt/adapt_task.h"

namespace reverie {
namespace {

using Find = Decisions (*)(const AdaptStart& start, int episodes, uint64_t seed);

/// A search over sequences of decisions (env/adapt/search.h).
class SequenceSearch : public AdaptLearner {
 public:
  SequenceSearch(std::string name, std::string what, Find find)
      : AdaptLearner(std::move(name), std::move(what)), find_(find) {}

  Result run(const Task& task, const SearchOptions& limits, const SolverSettings&) const override {
    return play_found(adapt_task(task), find_, limits);
  }

 private:
  Find find_;
};

const bool kRegistered =
    register_solver<SequenceSearch>("random_best", "the best of sequences that are drawn",
                                    random_best) &&
    register_solver<SequenceSearch>(
        "halving", "successive halving of such by their learning curves", successive_halving) &&
    register_solver<SequenceSearch>(
        "thompson", "Thompson sampling, with a linear model of what decisions add", thompson);

}  // namespace
}  // namespace reverie
