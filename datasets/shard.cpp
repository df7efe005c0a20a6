#include "datasets/shard.h"

#include <algorithm>
#include <map>

#include "core/base/error.h"
#include "core/base/files.h"

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

/// The numbers of a spec with the names of their attributes, for writing and for reading.
template <class Visit, class Spec>
void visit_numbers(Spec& spec, Visit visit) {
  visit("env.node_types", spec.node_types);
  visit("env.node_features", spec.node_features);
  visit("env.edge_features", spec.edge_features);
  visit("env.global_features", spec.global_features);
  visit("env.action_features", spec.action_features);
  visit("env.max_secondary", spec.max_secondary);
  visit("env.horizon", spec.horizon);
  visit("env.start_states", spec.start_states);
  visit("env.deterministic", spec.deterministic);
  visit("env.prefix_masks", spec.prefix_masks);
  visit("env.regions", spec.regions);
  visit("env.fingerprint", spec.fingerprint);
}

void write_info(hdf5::Writer& writer, const Shard& shard) {
  const RolloutInfo& info = shard.info;
  visit_numbers(info.spec, [&](const char* name, auto value) {
    writer.attribute(name, static_cast<uint64_t>(value));
  });
  writer.attribute("schema", kRolloutFile.schema);
  writer.attribute("seed", info.seed);
  writer.attribute("planned_episodes", info.planned_episodes);
  writer.attribute("shard_episodes", info.shard_episodes);
  writer.attribute("first_episode", shard.first_episode);
  writer.text("env_name", info.spec.name);
  writer.text("env_actions", join_lines(info.spec.actions));
  writer.text("cost_source", info.spec.cost_source);
  writer.text("config", info.config);
  writer.text("graphs", join_lines(info.graphs));
  writer.texts("graph_texts", "graph_text_bytes", info.graph_texts);
}

void read_info(const hdf5::Reader& reader, const std::string& path, Shard* shard) {
  RolloutInfo& info = shard->info;
  visit_numbers(info.spec, [&](const char* name, auto& value) {
    value = static_cast<std::remove_reference_t<decltype(value)>>(reader.attribute(name));
  });
  info.seed = reader.attribute("seed");
  info.planned_episodes = static_cast<int>(reader.attribute("planned_episodes"));
  info.shard_episodes = static_cast<int>(reader.attribute("shard_episodes"));
  shard->first_episode = static_cast<int>(reader.attribute("first_episode"));
  info.spec.name = reader.text("env_name");
  info.spec.actions = split_lines(reader.text("env_actions"));
  info.spec.cost_source = reader.text("cost_source");
  info.config = reader.text("config");
  info.graphs = split_lines(reader.text("graphs"));
  info.graph_texts = reader.texts("graph_texts", "graph_text_bytes");
  if (info.spec.actions.empty()) reader.refuse("env_actions", "is empty");
  const int most = info.spec.prefix_masks ? kMaxRegions : 1;
  if (info.spec.regions < 1 || info.spec.regions > most)
    throw InputError("{}: attribute env.regions is {}, it must be from 1 to {}", path,
                     info.spec.regions, most);
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
  CompactInts states, primary, secondary;
  std::vector<float> rewards;
  std::vector<uint8_t> ends;
  std::vector<double> costs;
  for (const Episode& episode : shard.episodes) {
    for (const Transition& step : episode.steps) {
      states.push_back(static_cast<uint32_t>(step.state));
      primary.push_back(static_cast<uint32_t>(step.action.primary));
      secondary.push_back(static_cast<uint32_t>(step.action.secondary));
      rewards.push_back(step.reward);
      ends.push_back(static_cast<uint8_t>(step.terminated + 2 * step.truncated));
    }
    costs.insert(costs.end(), episode.cost_ms.begin(), episode.cost_ms.end());
  }
  writer.group("steps");
  writer.array("steps/state", states);
  writer.array("steps/primary", primary);
  writer.array("steps/secondary", secondary);
  writer.array("steps/reward", rewards);
  writer.array("steps/end", ends);
  writer.array("steps/cost_ms", costs);
}

/// Numbers that must lie below a limit.
CompactInts bounded(const hdf5::Reader& reader, const std::string& name, size_t count, size_t limit) {
  CompactInts values = reader.integers(name, count);
  for (size_t i = 0; i < count; ++i)
    if (values[i] >= limit)
      reader.refuse(name, fmt::format("entry {} is {}, it must be below {}", i, values[i], limit));
  return values;
}

void read_episodes(const hdf5::Reader& reader, Shard* shard) {
  const auto seeds = reader.array<uint64_t>("episodes/seed", reader.count("episodes/seed"));
  const size_t count = seeds.size(), states = shard->states.size();
  const auto agents = split_lines(reader.text("episodes/agents"));
  const auto lengths = reader.integers("episodes/steps", count);
  const auto starts = bounded(reader, "episodes/start_graph", count,
                              static_cast<size_t>(shard->info.spec.start_states));
  const auto splits = bounded(reader, "episodes/split", count, 3);
  const auto agent = bounded(reader, "episodes/agent", count, agents.size());
  const auto last = bounded(reader, "episodes/final_state", count, states);
  for (size_t e = 0; e < count; ++e) {
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
  const auto secondary =
      bounded(reader, "steps/secondary", count, static_cast<size_t>(spec.max_secondary));
  const auto rewards = reader.array<float>("steps/reward", count);
  const auto ends = bounded(reader, "steps/end", count, 3);
  const auto costs = reader.array<double>("steps/cost_ms", count + shard->episodes.size());
  size_t at = 0;
  auto cost = costs.begin();
  for (Episode& episode : shard->episodes) {
    const auto next_cost = cost + static_cast<ptrdiff_t>(episode.steps.size()) + 1;
    episode.cost_ms.assign(cost, next_cost);
    cost = next_cost;
    for (Transition& step : episode.steps) {
      step.state = static_cast<int32_t>(states[at]);
      step.action = {static_cast<int>(primary[at]), static_cast<int>(secondary[at])};
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
  read_info(reader, path, &shard);
  shard.states = StateTable::read(reader, shard.info.spec);
  read_episodes(reader, &shard);
  read_steps(reader, &shard);
  return shard;
}

}  // namespace reverie
