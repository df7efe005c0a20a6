#include "controller/agents/learners.h"

#include "controller/agents/colocrl.h"
#include "controller/agents/go.h"
#include "controller/agents/hdp.h"
#include "controller/agents/placeto.h"
#include "controller/agents/regal.h"

namespace reverie {
namespace {

template <class Learner>
LearnerKind kind_of(std::string name, std::string what) {
  return {std::move(name), std::move(what),
          [](int devices, uint64_t seed) { return std::make_unique<Learner>(devices, seed); }};
}

LearnerKind go_kind(std::string name, std::string what, const GoOptions& options) {
  return {std::move(name), std::move(what), [options](int devices, uint64_t seed) {
            return std::make_unique<Go>(devices, seed, options);
          }};
}

}  // namespace

std::vector<LearnerKind> all_learners() {
  return {
      kind_of<ColocRl>("colocrl", "a sequence of groups to a sequence of devices"),
      kind_of<Hdp>("hdp", "operators to groups, and a sequence of groups to devices"),
      kind_of<Placeto>("placeto", "one group after the other is placed anew"),
      kind_of<Regal>("regal", "distributions for a genetic algorithm, of a graph network"),
      go_kind("go", "devices one after the other, then all priorities and fusion", {}),
      go_kind("go_separate", "go that learns one of these after the other", {.separate = true}),
      go_kind("go_placement", "go with devices alone", {.tasks = {GoTask::kPlacement}}),
  };
}

}  // namespace reverie
