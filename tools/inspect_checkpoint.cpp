#include <fmt/format.h>

#include "core/base/json.h"
#include "tools/inspect.h"
#include "worldmodel/network/checkpoint.h"

namespace reverie {
namespace {

int64_t parameters(const Checkpoint& checkpoint) {
  int64_t count = 0;
  for (const auto& [name, tensor] : checkpoint.tensors) count += tensor.numel();
  return count;
}

Json to_json(const std::string& file, const Checkpoint& checkpoint) {
  Json::Array tensors;
  for (const auto& [name, tensor] : checkpoint.tensors)
    tensors.push_back({{"name", name}, {"shape", tensor.sizes().vec()}});
  return {{"kind", "checkpoint"},
          {"file", file},
          {"holds", checkpoint.kind},
          {"environment", checkpoint.spec.name},
          {"source", checkpoint.spec.source},
          {"actions", checkpoint.spec.actions.size()},
          {"data", fmt::format("{:016x}", checkpoint.data)},
          {"parameters", parameters(checkpoint)},
          {"counters", checkpoint.counters},
          {"scores", checkpoint.scores},
          {"tensors", tensors},
          {"config", checkpoint.config}};
}

std::string to_text(const std::string& file, const Checkpoint& checkpoint) {
  const EnvSpec& spec = checkpoint.spec;
  std::string text = fmt::format("{}: checkpoint, {}\n", file, checkpoint.kind);
  if (!spec.name.empty())
    text += fmt::format("environment {}, {} actions, {} by {}\ntrained on data {:016x}\n",
                        spec.name, spec.actions.size(), spec.objective_metric().name, spec.source,
                        checkpoint.data);
  text += fmt::format("numbers   {} in {} tensors\n", parameters(checkpoint),
                      checkpoint.tensors.size());
  for (const auto& [name, value] : checkpoint.counters)
    text += fmt::format("counter   {} {}\n", name, value);
  for (const auto& [name, value] : checkpoint.scores)
    text += fmt::format("score     {} {:.6g}\n", name, value);
  return text + "\n" + checkpoint.config;
}

std::string inspected(const std::string& file, bool json) {
  const Checkpoint checkpoint = load_checkpoint(file, "");
  return json ? to_json(file, checkpoint).dump() + "\n" : to_text(file, checkpoint);
}

const bool kInspectCheckpointThere = inspect_checkpoint.is(inspected);

}  // namespace

}  // namespace reverie
