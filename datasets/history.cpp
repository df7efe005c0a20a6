#include "datasets/history.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/json.h"

namespace reverie {
namespace {

constexpr std::pair<const char*, int64_t EnvCounters::*> kCounters[] = {
    {"episodes", &EnvCounters::resets},
    {"steps", &EnvCounters::steps},
    {"cost_lookups", &EnvCounters::cost_lookups},
    {"measurements", &EnvCounters::measurements}};

std::string path_in(const std::string& directory) { return directory + "/history.json"; }

Json counters_json(const EnvCounters& counters) {
  Json json = Json::Object();
  for (const auto& [name, field] : kCounters) json[name] = counters.*field;
  return json;
}

EnvCounters counters_of(const Json& json) {
  EnvCounters counters;
  for (const auto& [name, field] : kCounters) counters.*field = json.at(name).get<int64_t>();
  return counters;
}

StepTaken step_of(const Json& json) {
  StepTaken step;
  step.step = json.at("step").get<std::string>();
  step.done = json.at("done").get<std::string>();
  if (const Json* seed = json.find("seed")) step.seed = seed->get<uint64_t>();
  if (const Json* seconds = json.find("seconds")) step.seconds = seconds->get<double>();
  step.version = json.at("version").get<std::string>();
  step.learning = counters_of(json.at("learning"));
  step.validation = counters_of(json.at("validation"));
  return step;
}

}  // namespace

bool StepTaken::operator==(const StepTaken& other) const {
  return step_json(*this) == step_json(other);
}

Json step_json(const StepTaken& step) {
  Json json = {{"step", step.step}, {"done", step.done}};
  if (step.seed) json["seed"] = *step.seed;
  if (step.seconds) json["seconds"] = *step.seconds;
  json["version"] = step.version;
  json["learning"] = counters_json(step.learning);
  json["validation"] = counters_json(step.validation);
  return json;
}

History read_history(const std::string& directory) {
  const std::string path = path_in(directory);
  if (!file_exists(path)) return {};
  return with_context(path, [&] {
    const Json steps = Json::parse(read_file(path));
    History history;
    for (const Json& step : steps.array()) history.push_back(step_of(step));
    return history;
  });
}

void write_history(const std::string& directory, History before, StepTaken step) {
  if (file_exists(path_in(directory))) return;
  before.push_back(std::move(step));
  Json::Array steps;
  for (const StepTaken& one : before) steps.push_back(step_json(one));
  write_file(path_in(directory), Json(std::move(steps)).dump(1) + "\n");
}

History joined(History one, const History& other) {
  for (const StepTaken& step : other)
    if (std::ranges::find(one, step) == one.end()) one.push_back(step);
  return one;
}

}  // namespace reverie
