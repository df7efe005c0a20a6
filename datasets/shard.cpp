#include "datasets/shard.h"

#include <algorithm>
#include <map>

#include "core/base/error.h"
#include "core/base/files.h"
#include "env/spec_json.h"

namespace reverie {
namespace {

std::string join_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

void write_info(hdf5::Writer& writer, const Shard& shard) {
  const RolloutInfo& info = shard.info;
  writer.attribute("schema", kRolloutFile.schema);
  writer.attribute("seed", info.seed);
  writer.attribute("planned_episodes", info.planned_episodes);
  writer.attribute("shard_episodes", info.shard_episodes);
  writer.attribute("first_episode", shard.first_episode);
  writer.text("spec", spec_to_json(info.spec).dump());
  writer.text("config", info.config);
}

void read_info(const hdf5::Reader& reader, Shard* shard) {
  RolloutInfo& info = shard->info;
  info.seed = reader.attribute("seed");
  info.planned_episodes = static_cast<int>(reader.attribute("planned_episodes"));
  info.shard_episodes = static_cast<int>(reader.attribute("shard_episodes"));
  shard->first_episode = static_cast<int>(reader.attribute("first_episode"));
  info.config = reader.text("config");
  const std::string spec = reader.text("spec");
  try {
    info.spec = spec_from_json(Json::parse(spec));
  } catch (const InputError& error) {
    reader.refuse("spec", error.what());
  }
}

void write_episodes(hdf5::Writer& writer, const Shard& shard) {
  std::map<std::string, uint32_t> agents;
  for (const Episode& episode : shard.episodes) agents.emplace(episode.agent, 0);
  std::vector<std::string> names;
  for (auto& [name, number] : agents) {
    number = static_cast<uint32_t>(names.size());
    names.push_back(name);
  }
  std::vector<uint64_t> seeds;
  std::vector<uint8_t> splits;
  CompactInts lengths, starts, agent, last;
  for (size_t e = 0; e < shard.episodes.size(); ++e) {
    const Episode& episode = shard.episodes[e];
    seeds.push_back(episode.seed);
    splits.push_back(static_cast<uint8_t>(shard.splits[e]));
    lengths.push_back(static_cast<uint32_t>(episode.steps.size()));
    starts.push_back(static_cast<uint32_t>(episode.start_graph));
    agent.push_back(agents.at(episode.agent));
    last.push_back(static_cast<uint32_t>(episode.final_state));
  }
  writer.group("episodes");
  writer.array("episodes/seed", seeds);
  writer.array("episodes/steps", lengths);
  writer.array("episodes/start_graph", starts);
  writer.array("episodes/split", splits);
  writer.array("episodes/agent", agent);
  writer.array("episodes/final_state", last);
  writer.text("episodes/agents", join_lines(names));
}

void write_steps(hdf5::Writer& writer, const Shard& shard) {
  CompactInts states, primary, entity, index;
  std::vector<float> rewards;
  std::vector<uint8_t> ends;
  std::vector<double> objectives;
  std::vector<uint8_t> feasible;
  for (const Episode& episode : shard.episodes) {
    for (const Transition& step : episode.steps) {
      states.push_back(static_cast<uint32_t>(step.state));
      primary.push_back(static_cast<uint32_t>(step.action.primary));
      entity.push_back(static_cast<uint32_t>(step.action.entity));
      index.push_back(static_cast<uint32_t>(step.action.index));
      rewards.push_back(step.reward);
      ends.push_back(static_cast<uint8_t>(step.terminated + 2 * step.truncated));
    }
    objectives.insert(objectives.end(), episode.objective.begin(), episode.objective.end());
    feasible.insert(feasible.end(), episode.feasible.begin(), episode.feasible.end());
  }
  writer.group("steps");
  writer.array("steps/state", states);
  writer.array("steps/primary", primary);
  writer.array("steps/entity", entity);
  writer.array("steps/index", index);
  writer.array("steps/reward", rewards);
  writer.array("steps/end", ends);
  writer.array("steps/objective", objectives);
  if (shard.info.spec.may_be_infeasible) writer.array("steps/feasible", feasible);
}

/// Numbers that must lie below a limit.
CompactInts bounded(const hdf5::Reader& reader, const std::string& name, size_t count,
                    size_t limit) {
  CompactInts values = reader.integers(name, count);
  for (size_t i = 0; i < count; ++i)
    if (values[i] >= limit)
      reader.refuse(name, fmt::format("entry {} is {}, it must be below {}", i, values[i], limit));
  return values;
}

/// Of each step one of its state's entities.
CompactInts entities_of_steps(const hdf5::Reader& reader, const CompactInts& states,
                              const StateTable& table) {
  CompactInts entities = reader.integers("steps/entity", states.size());
  for (size_t i = 0; i < states.size(); ++i)
    if (entities[i] >= table.entities(states[i]))
      reader.refuse("steps/entity", fmt::format("entry {} is {}, it must be below {}", i,
                                                entities[i], table.entities(states[i])));
  return entities;
}

void read_episodes(const hdf5::Reader& reader, Shard* shard) {
  const auto seeds = reader.array<uint64_t>("episodes/seed", reader.count("episodes/seed"));
  const size_t count = seeds.size(), states = shard->states.size();
  const auto agents = split_lines(reader.text("episodes/agents"));
  const auto lengths = reader.integers("episodes/steps", count);
  const auto starts = bounded(reader, "episodes/start_graph", count,
                              static_cast<size_t>(shard->info.spec.start_states()));
  const auto splits = bounded(reader, "episodes/split", count, 3);
  const auto agent = bounded(reader, "episodes/agent", count, agents.size());
  const auto last = bounded(reader, "episodes/final_state", count, states);
  size_t left = reader.count("steps/reward");
  for (size_t e = 0; e < count; ++e) {
    if (lengths[e] > left)
      reader.refuse("episodes/steps",
                    fmt::format("entry {} is {}, only {} steps are left", e, lengths[e], left));
    left -= lengths[e];
    Episode& episode = shard->episodes.emplace_back();
    episode.seed = seeds[e];
    episode.start_graph = static_cast<int32_t>(starts[e]);
    episode.agent = agents[agent[e]];
    episode.final_state = static_cast<int32_t>(last[e]);
    episode.steps.resize(lengths[e]);
    shard->splits.push_back(static_cast<Split>(splits[e]));
  }
}

void read_steps(const hdf5::Reader& reader, Shard* shard) {
  size_t count = 0;
  for (const Episode& episode : shard->episodes) count += episode.steps.size();
  const EnvSpec& spec = shard->info.spec;
  const auto states = bounded(reader, "steps/state", count, shard->states.size());
  const auto primary = bounded(reader, "steps/primary", count, spec.actions.size());
  const auto entity = entities_of_steps(reader, states, shard->states);
  const auto index = bounded(reader, "steps/index", count, static_cast<size_t>(spec.max_choices));
  const auto rewards = reader.array<float>("steps/reward", count);
  const auto ends = bounded(reader, "steps/end", count, 3);
  const auto objectives = reader.array<double>("steps/objective", count + shard->episodes.size());
  std::vector<uint8_t> feasible;
  if (spec.may_be_infeasible) feasible = reader.array<uint8_t>("steps/feasible", objectives.size());
  size_t at = 0, state = 0;
  for (Episode& episode : shard->episodes) {
    for (size_t i = 0; i <= episode.steps.size(); ++i, ++state) {
      episode.objective.push_back(objectives[state]);
      if (!feasible.empty()) episode.feasible.push_back(feasible[state]);
    }
    for (Transition& step : episode.steps) {
      step.state = static_cast<int32_t>(states[at]);
      step.action = {static_cast<int>(primary[at]), static_cast<int>(entity[at]),
                     static_cast<int>(index[at])};
      step.reward = rewards[at];
      step.terminated = ends[at] == 1;
      step.truncated = ends[at] == 2;
      ++at;
    }
  }
}

}  // namespace

std::string shard_name(int index) { return fmt::format("shard-{:05}.h5", index); }

std::string shard_bytes(const Shard& shard) {
  hdf5::Writer writer;
  write_info(writer, shard);
  shard.states.write(writer);
  write_episodes(writer, shard);
  write_steps(writer, shard);
  return hdf5::sealed(kRolloutFile, writer.finish());
}

Shard read_shard(const std::string& path, uint64_t* checksum) {
  const std::string bytes = read_file(path);
  const hdf5::Unsealed whole = hdf5::unseal(kRolloutFile, bytes, path);
  if (checksum != nullptr) *checksum = whole.checksum;
  const hdf5::Reader reader(whole.image, path);
  Shard shard;
  read_info(reader, &shard);
  shard.states = StateTable::read(reader, shard.info.spec);
  read_episodes(reader, &shard);
  read_steps(reader, &shard);
  return shard;
}

}  // namespace reverie
