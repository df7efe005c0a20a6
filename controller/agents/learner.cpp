#include "controller/agents/learner.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "controller/agents/learners.h"
#include "core/base/error.h"
#include "core/base/files.h"
#include "worldmodel/network/checkpoint.h"

namespace reverie {
namespace {

constexpr const char* kCheckpointKind = "agent";
constexpr std::string_view kOlderMagic = "PK";  // LibTorch's archives, until checkpoints came

}  // namespace

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
  Checkpoint checkpoint;
  checkpoint.kind = kCheckpointKind;
  checkpoint.config = fmt::format("agent: {}\ndevices: {}\n", kind, devices);
  checkpoint.configs["agent"] = kind;
  checkpoint.counters["devices"] = devices;
  store_module(checkpoint, "agent", learner.module());
  save_checkpoint(path, checkpoint);
}

SavedLearner load_learner(const std::string& path, uint64_t seed) {
  if (read_file(path).starts_with(kOlderMagic))
    throw InputError("{}: an agent's file of an older form; have it learn again with place_learn",
                     path);
  const Checkpoint checkpoint = load_checkpoint(path, kCheckpointKind);
  return with_context(path, [&] {
    const auto kind = checkpoint.configs.find("agent");
    const auto devices = checkpoint.counters.find("devices");
    if (kind == checkpoint.configs.end() || devices == checkpoint.counters.end())
      throw InputError("the checkpoint does not say which agent it holds, for how many devices");
    SavedLearner saved{kind->second, static_cast<int>(devices->second), nullptr};
    saved.learner = learner_kind(saved.kind).make(saved.devices, seed);
    restore_module(checkpoint, "agent", saved.learner->module());
    return saved;
  });
}

}  // namespace reverie
