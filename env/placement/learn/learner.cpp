#include "env/placement/learn/learner.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "core/base/error.h"
#include "core/base/files.h"
#include "env/placement/learn/learners.h"

namespace reverie {

std::span<const LearnerKind> learner_kinds() {
  static const std::vector<LearnerKind> kinds = all_learners();
  return kinds;
}

const LearnerKind& learner_kind(const std::string& name) {
  const auto kinds = learner_kinds();
  const auto found = std::ranges::find(kinds, name, &LearnerKind::name);
  if (found != kinds.end()) return *found;
  std::vector<std::string> names;
  for (const LearnerKind& kind : kinds) names.push_back(kind.name);
  throw InputError("no learner '{}'; there are {}", name, fmt::join(names, ", "));
}

PlaceMethod single_graph_method(const LearnerKind& kind) {
  return {kind.name, kind.what, [make = kind.make](Evaluator& evaluator, uint64_t seed) {
            const auto learner = make(evaluator.topology().size(), seed);
            Evaluator* const one[] = {&evaluator};
            learner->learn(one);
          }};
}

void save_learner(const std::string& path, const std::string& kind, int devices,
                  PlacementLearner& learner) {
  torch::serialize::OutputArchive archive;
  archive.write("kind", c10::IValue(kind));
  archive.write("devices", c10::IValue(int64_t{devices}));
  torch::serialize::OutputArchive weights;
  learner.module().save(weights);
  archive.write("weights", weights);
  AsideFile file(path);
  archive.save_to(file.temporary());
  file.commit();
}

SavedLearner load_learner(const std::string& path, uint64_t seed) {
  if (!file_exists(path)) throw InputError("{}: there is no such file", path);
  try {
    torch::serialize::InputArchive archive, weights;
    archive.load_from(path);
    c10::IValue kind, devices;
    archive.read("kind", kind);
    archive.read("devices", devices);
    SavedLearner saved{kind.toStringRef(), static_cast<int>(devices.toInt()), nullptr};
    saved.learner = learner_kind(saved.kind).make(saved.devices, seed);
    archive.read("weights", weights);
    saved.learner->module().load(weights);
    return saved;
  } catch (const c10::Error&) {
    throw InputError("{}: is no file of a placement learner, or is damaged", path);
  }
}

}  // namespace reverie
