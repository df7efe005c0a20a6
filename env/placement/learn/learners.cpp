#include "env/placement/learn/learners.h"

#include "env/placement/learn/colocrl.h"

namespace reverie {
namespace {

template <class Learner>
LearnerKind kind_of(std::string name, std::string what) {
  return {std::move(name), std::move(what),
          [](int devices, uint64_t seed) { return std::make_unique<Learner>(devices, seed); }};
}

}  // namespace

std::vector<LearnerKind> all_learners() {
  return {
      kind_of<ColocRl>("colocrl", "a sequence of groups to a sequence of devices"),
  };
}

}  // namespace reverie
