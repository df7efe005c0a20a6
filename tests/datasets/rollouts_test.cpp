#include "datasets/rollouts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/random.h"
#include "datasets/rollout_writer.h"
#include "datasets/shard.h"
#include "env/spec_json.h"
#include "tests/support/files_of.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> names(const char* what, uint64_t count) {
  std::vector<std::string> names;
  for (uint64_t i = 0; i < count; ++i) names.push_back(fmt::format("{} {}", what, i));
  return names;
}

EnvSpec random_spec(Rng& rng) {
  EnvSpec spec;
  spec.name = "random";
  spec.node_types = names("type", 1 + rng.below(300));
  spec.node_features = names("node", rng.below(4));
  spec.edge_features = names("edge", rng.below(3));
  spec.action_features = names("action", rng.below(3));
  spec.actions = names("a", rng.below(4));
  spec.actions.push_back("NO-OP");
  if (rng.below(4) > 0) spec.targets = {{"share", TargetLevel::kNode, TargetLoss::kShare}};
  for (const std::string& name : names("target", rng.below(3)))
    spec.targets.push_back({name, TargetLevel::kGraph, TargetLoss::kBinary});
  spec.metrics = {{"value", "percent"}, {"time", "ms"}};
  spec.objective = static_cast<int>(rng.below(2));
  spec.less_is_better = rng.below(2) == 0;
  spec.max_choices = 1 + static_cast<int>(rng.below(2) ? rng.below(9) : rng.below(32767));
  spec.horizon = 10;
  for (const std::string& name : names("start", 1 + rng.below(3)))
    spec.starts.push_back({name, rng.bits()});
  spec.source = "none";
  spec.may_be_infeasible = rng.below(2) == 0;
  return spec;
}

/// Multiples of a sixteenth, which float16 holds exactly.
std::vector<float> random_features(size_t count, Rng& rng) {
  std::vector<float> values(count);
  for (float& value : values) value = (static_cast<float>(rng.below(64)) - 32) / 16;
  return values;
}

void add_random_actions(const EnvSpec& spec, Observation* observation, Rng& rng) {
  for (uint16_t& count : observation->mask.counts) {
    if (rng.below(3) == 0)
      count = static_cast<uint16_t>(rng.below(static_cast<uint64_t>(spec.max_choices) + 1));
    for (const float feature : random_features(spec.action_features.size(), rng))
      observation->action_features.push_back(count > 0 ? feature : 0.0f);
  }
}

Observation random_observation(const EnvSpec& spec, Rng& rng) {
  Observation observation;
  GraphFeatures& graph = observation.graph;
  const size_t nodes = 1 + rng.below(6), edges = rng.below(2) ? rng.below(9) : 0;
  observation.mask = ActionMask(spec.primary_actions(), 1 + static_cast<int>(rng.below(5)));
  for (size_t i = 0; i < nodes; ++i) {
    graph.node_types.push_back(static_cast<int>(rng.below(spec.node_types.size())));
    graph.node_entities.push_back(
        static_cast<int>(rng.below(static_cast<uint64_t>(observation.mask.entities))));
  }
  for (size_t i = 0; i < edges; ++i) {
    graph.senders.push_back(static_cast<int>(rng.below(nodes)));
    graph.receivers.push_back(static_cast<int>(rng.below(nodes)));
  }
  graph.nodes = random_features(nodes * spec.node_features.size(), rng);
  graph.edges = random_features(edges * spec.edge_features.size(), rng);
  graph.node_targets =
      random_features(nodes * static_cast<size_t>(spec.target_count(TargetLevel::kNode)), rng);
  graph.graph_targets =
      random_features(static_cast<size_t>(spec.target_count(TargetLevel::kGraph)), rng);
  add_random_actions(spec, &observation, rng);
  observation.state_key = rng.below(20);  // keys often collide, and must not be trusted
  return observation;
}

struct Written {
  RolloutInfo info;
  std::vector<Episode> episodes;
  std::vector<Split> splits;
  std::vector<std::vector<Observation>> observations;  // of each episode, T + 1
};

Written random_rollouts(Rng& rng) {
  Written written;
  written.info.spec = random_spec(rng);
  written.info.seed = rng.bits();
  written.info.config = "collect:\n  episodes: 3\n";
  written.info.planned_episodes = 1 + static_cast<int>(rng.below(7));
  written.info.shard_episodes = 1 + static_cast<int>(rng.below(3));
  const EnvSpec& spec = written.info.spec;
  std::vector<Observation> pool;
  for (int i = 0; i < 12; ++i) pool.push_back(random_observation(spec, rng));
  for (int e = 0; e < written.info.planned_episodes; ++e) {
    Episode episode;
    episode.seed = rng.bits();
    episode.start_graph = static_cast<int>(rng.below(spec.starts.size()));
    episode.agent = rng.below(2) ? "random" : "mixed:0.15";
    const uint64_t length = rng.below(6);
    auto& observations = written.observations.emplace_back();
    for (uint64_t t = 0; t <= length; ++t) {
      observations.push_back(pool[rng.below(pool.size())]);
      episode.objective.push_back(rng.normal());
      if (spec.may_be_infeasible) episode.feasible.push_back(static_cast<uint8_t>(rng.below(2)));
      if (t == length) break;
      const uint64_t end = rng.below(3);
      const auto entities = static_cast<uint64_t>(observations.back().mask.entities);
      episode.steps.push_back(
          {0,
           {static_cast<int>(rng.below(spec.actions.size())), static_cast<int>(rng.below(entities)),
            static_cast<int>(rng.below(static_cast<uint64_t>(spec.max_choices)))},
           static_cast<float>(rng.normal()),
           end == 1,
           end == 2});
    }
    written.episodes.push_back(episode);
    written.splits.push_back(static_cast<Split>(rng.below(3)));
  }
  return written;
}

void write(const Written& written, const std::string& directory, size_t episodes = 1000) {
  RolloutWriter writer(directory, written.info);
  const std::vector<int> missing = writer.missing();
  for (const int episode : missing) {
    const auto e = static_cast<size_t>(episode);
    if (e >= episodes) return;
    RecordedEpisode recorded{written.episodes[e], written.splits[e], {}};
    for (const Observation& observation : written.observations[e])
      recorded.states.push_back(encode_state(written.info.spec, observation));
    writer.append(std::move(recorded));
  }
}

std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

std::string open_error(const std::string& directory) {
  return error_of([&] { Rollouts::open(directory); });
}

TEST(Rollouts, GiveBackRandomEpisodesAsTheyWere) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Rng rng(seed);
    const Written written = random_rollouts(rng);
    const TemporaryDirectory directory;
    write(written, directory.path());
    const Rollouts rollouts = Rollouts::open(directory.path(), seed % 2 ? 1 : size_t{1} << 20);
    EXPECT_EQ(rollouts.info(), written.info);
    ASSERT_EQ(rollouts.episodes().size(), written.episodes.size());
    for (size_t e = 0; e < written.episodes.size(); ++e) {
      Episode episode = rollouts.episodes()[e];
      EXPECT_EQ(rollouts.split(static_cast<int>(e)), written.splits[e]);
      for (size_t t = 0; t < episode.steps.size(); ++t) {
        EXPECT_EQ(rollouts.state(episode.steps[t].state), written.observations[e][t]);
        episode.steps[t].state = 0;
      }
      EXPECT_EQ(rollouts.state(episode.final_state), written.observations[e].back());
      episode.final_state = 0;
      EXPECT_EQ(episode, written.episodes[e]);
    }
  }
}

TEST(Rollouts, HoldEachDistinctStateOnceOverAllShards) {
  Rng rng(5);
  const Written written = random_rollouts(rng);
  std::vector<Observation> distinct;
  for (const auto& episode : written.observations)
    for (const Observation& observation : episode)
      if (std::find(distinct.begin(), distinct.end(), observation) == distinct.end())
        distinct.push_back(observation);
  const TemporaryDirectory directory;
  write(written, directory.path());
  const Rollouts rollouts = Rollouts::open(directory.path());
  EXPECT_EQ(rollouts.state_count(), static_cast<int>(distinct.size()));
  for (int i = 0; i < rollouts.state_count(); ++i)
    EXPECT_EQ(rollouts.state(i), distinct[static_cast<size_t>(i)]);
}

TEST(Rollouts, EqualContentIsEqualBytesHoweverOftenItWasInterrupted) {
  Rng rng(11);
  Written written = random_rollouts(rng);
  while (written.episodes.size() < 5) written = random_rollouts(rng);
  const TemporaryDirectory whole, pieces;
  write(written, whole.path());
  for (size_t stop = 1; stop <= written.episodes.size(); ++stop) {
    write(written, pieces.path(), stop);
    write_file(pieces / "shard-00001.h5.77-0.part", "half a shard");
  }
  write(written, pieces.path());
  EXPECT_EQ(testing::files_of(whole.path(), ".h5"), testing::files_of(pieces.path(), ".h5"));
  EXPECT_EQ(Rollouts::open(whole.path()).fingerprint(),
            Rollouts::open(pieces.path()).fingerprint());
  RolloutWriter(pieces.path(), written.info);
  EXPECT_TRUE(testing::files_of(pieces.path(), ".part").empty());
}

TEST(Rollouts, AnInterruptedCollectionOpensWithWhatItHas) {
  Rng rng(3);
  Written written = random_rollouts(rng);
  while (written.info.shard_episodes != 1 || written.episodes.size() < 4)
    written = random_rollouts(rng);
  const TemporaryDirectory directory;
  write(written, directory.path(), 2);
  const Rollouts rollouts = Rollouts::open(directory.path());
  EXPECT_EQ(rollouts.episodes().size(), 2u);
  EXPECT_EQ(rollouts.info().planned_episodes, static_cast<int>(written.episodes.size()));
}

class DamagedRollouts : public ::testing::Test {
 protected:
  DamagedRollouts() {
    Rng rng(21);
    written_ = random_rollouts(rng);
    while (written_.episodes.size() < 4 || written_.info.shard_episodes != 2)
      written_ = random_rollouts(rng);
    write(written_, directory_.path());
    good_ = read_file(second_);
  }
  /// One line that names the file.
  void expect_refused(const std::string& bytes, const std::string& reason) {
    write_file(second_, bytes);
    const std::string error = open_error(directory_.path());
    EXPECT_THAT(error, HasSubstr(second_));
    EXPECT_THAT(error, HasSubstr(reason));
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  }

  TemporaryDirectory directory_;
  Written written_;
  std::string second_ = directory_ / "shard-00001.h5";
  std::string good_;
};

TEST_F(DamagedRollouts, TruncatedFilesAreRefused) {
  for (const size_t size :
       {size_t{0}, size_t{10}, size_t{511}, size_t{512}, good_.size() / 2, good_.size() - 1})
    expect_refused(good_.substr(0, size), size < 60 ? "no rollout shard" : "truncated");
}

TEST_F(DamagedRollouts, AFlippedByteIsNoticed) {
  Rng rng(1);
  for (int i = 0; i < 40; ++i) {
    std::string bytes = good_;
    const size_t at = 512 + rng.below(bytes.size() - 512);
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << rng.below(8)));
    expect_refused(bytes, "does not match its checksum");
  }
}

TEST_F(DamagedRollouts, RandomBytesAreRefused) {
  Rng rng(1);
  std::string noise(5000, '\0');
  for (char& c : noise) c = static_cast<char>(rng.bits());
  expect_refused(noise, "no rollout shard");
  expect_refused(hdf5::sealed(kRolloutFile, noise), "no HDF5 file");
}

TEST_F(DamagedRollouts, AnotherSchemaVersionIsNamed) {
  hdf5::FileKind newer = kRolloutFile;
  newer.schema = 7;
  expect_refused(hdf5::sealed(newer, good_.substr(512)), "schema version 7");
}

TEST_F(DamagedRollouts, WhatComesFromAnotherCollectionIsNamed) {
  const Shard original = read_shard(second_);
  const auto refuse = [&](const char* what, const std::function<void(RolloutInfo&)>& change) {
    write_file(second_, good_);
    Shard shard = read_shard(second_);
    change(shard.info);
    expect_refused(shard_bytes(shard), fmt::format("another {} than the first shard", what));
  };
  refuse("environment", [](RolloutInfo& i) { i.spec.name = "other"; });
  refuse("set of actions",
         [](RolloutInfo& i) { i.spec.actions.insert(i.spec.actions.begin(), "more"); });
  refuse("start state", [](RolloutInfo& i) { i.spec.starts[0].fingerprint ^= 1; });
  refuse("start state", [](RolloutInfo& i) { i.spec.starts[0].name = "elsewhere"; });
  refuse("source of its metrics", [](RolloutInfo& i) { i.spec.source = "cpu"; });
  refuse("environment specification",
         [](RolloutInfo& i) { i.spec.less_is_better = !i.spec.less_is_better; });
  refuse("configuration or seed", [](RolloutInfo& i) { i.seed ^= 1; });
  refuse("configuration or seed", [](RolloutInfo& i) { i.config += "#"; });
}

/// A shard that ends after its specification.
std::string shard_of_spec(const std::string& spec) {
  hdf5::Writer writer;
  for (const char* name : {"seed", "planned_episodes", "shard_episodes", "first_episode"})
    writer.attribute(name, 1);
  writer.text("config", "");
  writer.text("spec", spec);
  return hdf5::sealed(kRolloutFile, writer.finish());
}

TEST_F(DamagedRollouts, ASpecificationThatIsNoneIsNamed) {
  const std::string good = spec_to_json(written_.info.spec).dump();
  expect_refused(shard_of_spec(good), "node_rows/type");  // it goes on to what follows
  EnvSpec other = written_.info.spec;
  other.objective = 7;
  std::string missing = good;
  missing.replace(missing.find("\"horizon\""), 9, "\"horizont\"");
  for (const std::string& spec :
       std::vector<std::string>{"", "toy", "[1,\n2", "{}", good.substr(0, good.size() / 2), missing,
                                spec_to_json(other).dump()})
    expect_refused(shard_of_spec(spec), "shard-00001.h5: data set spec: ");
}

TEST_F(DamagedRollouts, AMissingShardAndAMisplacedOneAreNamed) {
  expect_refused(shard_bytes(read_shard(directory_ / "shard-00000.h5")), "begins with episode 0");
  std::filesystem::remove(second_);
  write_file(directory_ / "shard-00002.h5", good_);
  EXPECT_THAT(open_error(directory_.path()), HasSubstr("shard-00001.h5: is missing"));
}

TEST_F(DamagedRollouts, AWriterRefusesWhatIsNotItsOwn) {
  RolloutInfo other = written_.info;
  other.seed ^= 1;
  EXPECT_THAT(error_of([&] { RolloutWriter(directory_.path(), other); }),
              HasSubstr("belongs to another collection"));
  write_file(second_, good_.substr(0, 600));
  EXPECT_THAT(error_of([&] { RolloutWriter(directory_.path(), written_.info); }),
              HasSubstr("truncated"));
}

TEST_F(DamagedRollouts, NumbersOutOfRangeNameTheDataSet) {
  const auto refuse = [&](const char* set, const std::function<void(Shard&)>& change) {
    write_file(second_, good_);
    Shard shard = read_shard(second_);
    change(shard);
    expect_refused(shard_bytes(shard), fmt::format("data set {}", set));
  };
  const auto with_step = [](Shard& s) -> Transition& {
    Episode& episode = s.episodes[0];
    episode.steps.resize(1);
    episode.objective.resize(2);
    if (!episode.feasible.empty()) episode.feasible.resize(2);
    episode.steps[0] = {};
    return episode.steps[0];
  };
  refuse("steps/state", [&](Shard& s) { with_step(s).state = 1000; });
  refuse("steps/primary", [&](Shard& s) { with_step(s).action.primary = 99; });
  refuse("steps/entity", [&](Shard& s) { with_step(s).action.entity = 5; });
  refuse("steps/index", [&](Shard& s) { with_step(s).action.index = s.info.spec.max_choices; });
  refuse("episodes/final_state", [](Shard& s) { s.episodes[0].final_state = 70000; });
  refuse("episodes/start_graph", [](Shard& s) { s.episodes[0].start_graph = 9; });
  refuse("episodes/split", [](Shard& s) { s.splits[0] = static_cast<Split>(7); });
  refuse("steps/objective", [](Shard& s) { s.episodes[0].objective.push_back(1); });
  refuse("node_rows/type", [](Shard& s) { s.info.spec.node_types.clear(); });
}

TEST(Rollouts, WhetherStatesAreFeasibleIsThereWhereItCanBeOtherwise) {
  Rng rng(2);
  Written written = random_rollouts(rng);
  while (!written.info.spec.may_be_infeasible) written = random_rollouts(rng);
  const TemporaryDirectory directory;
  write(written, directory.path());
  const std::string path = directory / "shard-00000.h5";
  Shard shard = read_shard(path);
  shard.episodes[0].feasible.pop_back();
  write_file(path, shard_bytes(shard));
  EXPECT_THAT(open_error(directory.path()), HasSubstr("data set steps/feasible: has"));
  shard.info.spec.may_be_infeasible = false;
  write_file(path, shard_bytes(shard));
  EXPECT_TRUE(read_shard(path).episodes[0].feasible.empty());
}

/// Rollouts with several entities, and what is said when something in the first shard is wrong.
class DamagedEntities : public ::testing::Test {
 protected:
  DamagedEntities() {
    Rng rng(8);
    while (written_.info.spec.action_features.empty() ||
           written_.observations[0][0].mask.entities < 3)
      written_ = random_rollouts(rng);
    write(written_, directory_.path());
    shard_ = read_shard(path_);
  }
  std::string error_of(const Shard& shard) {
    write_file(path_, shard_bytes(shard));
    return open_error(directory_.path());
  }
  /// All steps in one state, changed after it was checked.
  std::string error_with(const std::function<void(EncodedState&)>& change) {
    Shard shard = shard_;
    EncodedState state = encode_state(shard.info.spec, written_.observations[0][0]);
    change(state);
    StateTableBuilder states(shard.info.spec);
    states.add(state);
    shard.states = states.take();
    for (Episode& episode : shard.episodes) {
      episode.final_state = 0;
      for (Transition& step : episode.steps) step = {};
    }
    return error_of(shard);
  }

  TemporaryDirectory directory_;
  Written written_;
  std::string path_ = directory_ / "shard-00000.h5";
  Shard shard_;
};

TEST_F(DamagedEntities, NumbersThatDoNotFitNameTheDataSet) {
  EXPECT_EQ(error_with([](EncodedState&) {}), "no error");
  const EnvSpec& spec = written_.info.spec;
  const int entities = written_.observations[0][0].mask.entities;
  EXPECT_THAT(
      error_with([&](EncodedState& s) { s.node_entities[0] = entities; }),
      HasSubstr(fmt::format("states/node_entity: entry 0 is {0}, it must be below {0}", entities)));
  EXPECT_THAT(error_with([](EncodedState& s) { s.node_entities.pop_back(); }),
              HasSubstr("data set states/node_entity: has"));
  EXPECT_THAT(error_with([&](EncodedState& s) {
                s.action_features.resize(s.action_features.size() + spec.action_features.size());
              }),
              HasSubstr("data set states/cell_features: has"));
  EXPECT_THAT(error_with([&](EncodedState& s) {
                if (s.mask.counts.back() == 0)
                  s.action_features.resize(s.action_features.size() + spec.action_features.size());
                s.mask.counts.back() = static_cast<uint16_t>(spec.max_choices + 1);
              }),
              HasSubstr("data set states/cell_choices: entry"));
  EXPECT_THAT(error_with([&](EncodedState& s) {
                s.mask.counts.push_back(1);
                s.action_features.resize(s.action_features.size() + spec.action_features.size());
              }),
              HasSubstr("data set states/cell_step: a cell of state 0 is no action's"));
  EXPECT_THAT(error_with([](EncodedState& s) { s.mask.entities = 0; }),
              HasSubstr("data set states/entities: state 0 has no entity"));
}

TEST(Rollouts, PlacesThatCannotBeUsedAreNamed) {
  EXPECT_THAT(open_error("/nowhere"), HasSubstr("/nowhere: is no directory"));
  const TemporaryDirectory directory;
  EXPECT_THAT(open_error(directory.path()), HasSubstr("holds no rollouts"));
  write_file(directory / "file", "");
  Rng rng(1);
  const Written written = random_rollouts(rng);
  EXPECT_THAT(error_of([&] { write(written, directory / "file"); }), HasSubstr("/file"));
}

TEST(EncodeState, RefusesWhatTheSpecDoesNotSay) {
  Rng rng(31);
  EnvSpec spec = random_spec(rng);
  spec.node_features = {"one", "two"};
  spec.targets = {{"share", TargetLevel::kNode, TargetLoss::kShare},
                  {"size", TargetLevel::kGraph, TargetLoss::kRegression}};
  spec.action_features = {"gain"};
  Observation good = random_observation(spec, rng);
  while (good.mask.counts[0] > 0 || good.mask.entities < 2) good = random_observation(spec, rng);
  EXPECT_NO_THROW(encode_state(spec, good));
  const auto error = [&](const std::function<void(Observation&)>& change) {
    Observation bad = good;
    change(bad);
    return error_of([&] { encode_state(spec, bad); });
  };
  EXPECT_THAT(error([](Observation& o) { o.graph.nodes[1] = 70000; }),
              HasSubstr("column 1, is 70000"));
  EXPECT_THAT(error([](Observation& o) { o.graph.nodes[0] = NAN; }), HasSubstr("column 0, is nan"));
  EXPECT_THAT(error([](Observation& o) { o.graph.nodes.pop_back(); }), HasSubstr("node features"));
  EXPECT_THAT(error([](Observation& o) { o.graph.node_entities.pop_back(); }),
              HasSubstr("node entities"));
  EXPECT_THAT(error([](Observation& o) { o.graph.node_targets.pop_back(); }),
              HasSubstr("node targets"));
  EXPECT_THAT(error([](Observation& o) { o.graph.graph_targets.push_back(1); }),
              HasSubstr("graph targets"));
  EXPECT_THAT(error([](Observation& o) { o.graph.graph_targets[0] = INFINITY; }),
              HasSubstr("not finite"));
  EXPECT_THAT(error([](Observation& o) { o.mask.counts.push_back(1); }), HasSubstr("mask counts"));
  EXPECT_THAT(error([](Observation& o) { o.mask.entities = 0; }), HasSubstr("mask counts"));
  EXPECT_THAT(error([](Observation& o) { o.action_features.pop_back(); }),
              HasSubstr("action features"));
  EXPECT_THAT(error([](Observation& o) { o.action_features[0] = 1; }),
              HasSubstr("where it has no choices"));
  const auto types = static_cast<int>(spec.node_types.size());
  EXPECT_THAT(error([&](Observation& o) { o.graph.node_types[0] = types; }),
              HasSubstr("node type"));
  EXPECT_THAT(error([&](Observation& o) { o.graph.node_entities[0] = o.mask.entities; }),
              HasSubstr("an entity of a node is not below"));
  spec.edge_features.clear();
  EXPECT_THAT(error([](Observation& o) {
                o.graph.edges.clear();
                o.graph.senders = o.graph.receivers = {100};
              }),
              HasSubstr("an edge ends at no node"));
}

}  // namespace
}  // namespace reverie
