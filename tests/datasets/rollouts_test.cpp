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
#include "tests/support/files_of.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using ::testing::HasSubstr;

EnvSpec random_spec(Rng& rng) {
  EnvSpec spec;
  spec.name = "random";
  spec.node_types = 1 + static_cast<int>(rng.below(300));
  spec.node_features = static_cast<int>(rng.below(4));
  spec.edge_features = static_cast<int>(rng.below(3));
  spec.global_features = static_cast<int>(rng.below(3));
  spec.action_features = static_cast<int>(rng.below(3));
  for (uint64_t i = 0; i < rng.below(4); ++i) spec.actions.push_back(fmt::format("a{}", i));
  spec.actions.push_back("NO-OP");
  spec.max_secondary = 1 + static_cast<int>(rng.below(2) ? rng.below(9) : rng.below(60000));
  spec.horizon = 10;
  spec.start_states = 1 + static_cast<int>(rng.below(3));
  spec.prefix_masks = rng.below(2) == 0;
  if (spec.prefix_masks && rng.below(2))
    spec.regions = 2 + static_cast<int>(rng.below(kMaxRegions - 1));
  spec.fingerprint = rng.bits();
  spec.cost_source = "none";
  return spec;
}

/// Multiples of a sixteenth, which float16 holds exactly.
std::vector<float> random_features(size_t count, Rng& rng) {
  std::vector<float> values(count);
  for (float& value : values) value = (static_cast<float>(rng.below(64)) - 32) / 16;
  return values;
}

/// Spreads each action's choices over a few regions.
void add_random_regions(const EnvSpec& spec, Observation* observation, Rng& rng) {
  const auto regions = static_cast<uint64_t>(spec.regions);
  for (size_t i = 0; i < observation->graph.node_types.size(); ++i)
    observation->graph.node_regions.push_back(static_cast<int32_t>(rng.below(regions)));
  for (const uint16_t count : observation->mask.counts) {
    std::vector<uint16_t> row(regions, 0);
    for (uint16_t left = count; left > 0;) {
      const auto some = static_cast<uint16_t>(1 + rng.below(left));
      row[rng.below(regions)] += some;
      left = static_cast<uint16_t>(left - some);
    }
    for (const uint16_t cell : row) {
      const auto features = random_features(static_cast<size_t>(spec.action_features), rng);
      for (const float feature : features)
        observation->region_features.push_back(cell > 0 ? feature : 0.0f);
    }
    observation->mask.region_counts.insert(observation->mask.region_counts.end(), row.begin(),
                                           row.end());
  }
}

Observation random_observation(const EnvSpec& spec, Rng& rng) {
  Observation observation;
  GraphFeatures& graph = observation.graph;
  const size_t nodes = 1 + rng.below(6), edges = rng.below(2) ? rng.below(9) : 0;
  for (size_t i = 0; i < nodes; ++i)
    graph.node_types.push_back(static_cast<int>(rng.below(static_cast<uint64_t>(spec.node_types))));
  for (size_t i = 0; i < edges; ++i) {
    graph.senders.push_back(static_cast<int>(rng.below(nodes)));
    graph.receivers.push_back(static_cast<int>(rng.below(nodes)));
  }
  const auto wide = [](int width) { return static_cast<size_t>(width); };
  graph.nodes = random_features(nodes * wide(spec.node_features), rng);
  graph.edges = random_features(edges * wide(spec.edge_features), rng);
  graph.globals = random_features(wide(spec.global_features), rng);
  graph.node_targets = random_features(nodes, rng);
  observation.action_features =
      random_features(spec.actions.size() * wide(spec.action_features), rng);
  const uint64_t few = std::min<uint64_t>(static_cast<uint64_t>(spec.max_secondary), 20);
  for (size_t a = 0; a < spec.actions.size(); ++a) {
    const auto count = static_cast<uint16_t>(spec.prefix_masks
        ? rng.below(static_cast<uint64_t>(spec.max_secondary) + 1) : rng.below(few + 1));
    observation.mask.counts.push_back(count);
    if (spec.prefix_masks) continue;
    auto& list = observation.mask.choices.emplace_back();
    for (uint16_t i = 0; i < count; ++i) list.push_back(i);
  }
  if (spec.regions > 1) add_random_regions(spec, &observation, rng);
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
  written.info.graphs = {"one", "two"};
  if (rng.below(2)) written.info.graph_texts = {"x = Input : float32 2\noutput y = x\n", ""};
  written.info.planned_episodes = 1 + static_cast<int>(rng.below(7));
  written.info.shard_episodes = 1 + static_cast<int>(rng.below(3));
  const EnvSpec& spec = written.info.spec;
  std::vector<Observation> pool;
  for (int i = 0; i < 12; ++i) pool.push_back(random_observation(spec, rng));
  for (int e = 0; e < written.info.planned_episodes; ++e) {
    Episode episode;
    episode.seed = rng.bits();
    episode.start_graph = static_cast<int>(rng.below(static_cast<uint64_t>(spec.start_states)));
    episode.agent = rng.below(2) ? "random" : "mixed:0.15";
    const uint64_t length = rng.below(6);
    auto& observations = written.observations.emplace_back();
    for (uint64_t t = 0; t <= length; ++t) {
      observations.push_back(pool[rng.below(pool.size())]);
      episode.cost_ms.push_back(rng.uniform());
      if (t == length) break;
      const uint64_t end = rng.below(3);
      episode.steps.push_back(
          {0, {static_cast<int>(rng.below(spec.actions.size())),
               static_cast<int>(rng.below(static_cast<uint64_t>(spec.max_secondary)))},
           static_cast<float>(rng.normal()), end == 1, end == 2});
    }
    written.episodes.push_back(episode);
    written.splits.push_back(static_cast<Split>(rng.below(3)));
  }
  return written;
}

void write(const Written& written, const std::string& directory, size_t episodes = 1000) {
  RolloutWriter writer(directory, written.info);
  for (auto e = static_cast<size_t>(writer.next_episode());
       e < std::min(episodes, written.episodes.size()); ++e) {
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
  EXPECT_EQ(Rollouts::open(whole.path()).fingerprint(), Rollouts::open(pieces.path()).fingerprint());
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
  for (const size_t size : {size_t{0}, size_t{10}, size_t{511}, size_t{512}, good_.size() / 2,
                            good_.size() - 1})
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

TEST_F(DamagedRollouts, AnotherEnvironmentRuleSetOrSeedIsNamed) {
  Shard shard = read_shard(second_);
  const Shard original = shard;
  shard.info.spec.name = "other";
  expect_refused(shard_bytes(shard), "another environment");
  shard.info = original.info;
  shard.info.spec.fingerprint ^= 1;
  expect_refused(shard_bytes(shard), "another rule set");
  shard.info = original.info;
  shard.info.spec.cost_source = "cpu";
  expect_refused(shard_bytes(shard), "another cost source");
  shard.info = original.info;
  shard.info.seed ^= 1;
  expect_refused(shard_bytes(shard), "another configuration, seed");
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
  refuse("steps/state", [](Shard& s) { s.episodes[0].steps.resize(1); s.episodes[0].cost_ms.resize(2);
                                       s.episodes[0].steps[0].state = 1000; });
  refuse("steps/primary", [](Shard& s) { s.episodes[0].steps.resize(1); s.episodes[0].cost_ms.resize(2);
                                         s.episodes[0].steps[0].action.primary = 99; });
  refuse("episodes/final_state", [](Shard& s) { s.episodes[0].final_state = 70000; });
  refuse("episodes/start_graph", [](Shard& s) { s.episodes[0].start_graph = 9; });
  refuse("episodes/split", [](Shard& s) { s.splits[0] = static_cast<Split>(7); });
  refuse("steps/cost_ms", [](Shard& s) { s.episodes[0].cost_ms.push_back(1); });
  refuse("node_rows/type", [](Shard& s) { s.info.spec.node_types = 0; });
}

/// Rollouts whose graphs are cut, and what is said of them when something in the first shard is wrong.
class DamagedRegions : public ::testing::Test {
 protected:
  DamagedRegions() {
    Rng rng(8);
    while (written_.info.spec.regions == 1 || written_.info.spec.action_features == 0)
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
      for (Transition& step : episode.steps) step.state = 0;
    }
    return error_of(shard);
  }

  TemporaryDirectory directory_;
  Written written_;
  std::string path_ = directory_ / "shard-00000.h5";
  Shard shard_;
};

TEST_F(DamagedRegions, NumbersThatDoNotFitNameTheDataSet) {
  EXPECT_EQ(error_with([](EncodedState&) {}), "no error");
  const EnvSpec& spec = written_.info.spec;
  EXPECT_THAT(error_with([&](EncodedState& s) { s.node_regions[0] = spec.regions; }),
              HasSubstr(fmt::format("states/node_region: entry 0 is {0}, it must be below {0}",
                                    spec.regions)));
  EXPECT_THAT(error_with([](EncodedState& s) { s.node_regions.pop_back(); }),
              HasSubstr("data set states/node_region: has"));
  EXPECT_THAT(error_with([](EncodedState& s) { s.region_features.emplace_back(); }),
              HasSubstr("data set states/region_cell_features: has"));
  EXPECT_THAT(error_with([](EncodedState& s) {
                auto& cells = s.mask.region_counts;
                ++*std::find_if(cells.begin(), cells.end(), [](int count) { return count > 0; });
              }),
              HasSubstr("data set states/region_cell_choices: those of action"));
  EXPECT_THAT(error_with([&](EncodedState& s) {
                s.mask.region_counts.push_back(1);
                s.region_features.resize(s.region_features.size() +
                                         static_cast<size_t>(spec.action_features));
              }),
              HasSubstr("data set states/region_cell_step: a cell of state 0 is no action's"));
}

TEST_F(DamagedRegions, ANumberOfRegionsThatCannotBeIsNamed) {
  for (const int regions : {0, kMaxRegions + 1}) {
    Shard shard = shard_;
    shard.info.spec.regions = regions;
    EXPECT_THAT(error_of(shard), HasSubstr(fmt::format("env.regions is {}, it must", regions)));
  }
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
  spec.node_features = 2;
  const Observation good = random_observation(spec, rng);
  EXPECT_NO_THROW(encode_state(spec, good));
  const auto error = [&](const std::function<void(Observation&)>& change) {
    Observation bad = good;
    change(bad);
    return error_of([&] { encode_state(spec, bad); });
  };
  EXPECT_THAT(error([](Observation& o) { o.graph.nodes[1] = 70000; }), HasSubstr("column 1, is 70000"));
  EXPECT_THAT(error([](Observation& o) { o.graph.nodes[0] = NAN; }), HasSubstr("column 0, is nan"));
  EXPECT_THAT(error([](Observation& o) { o.graph.nodes.pop_back(); }), HasSubstr("node features"));
  EXPECT_THAT(error([](Observation& o) { o.mask.counts.push_back(1); }), HasSubstr("mask counts"));
  EXPECT_THAT(error([&](Observation& o) { o.graph.node_types[0] = spec.node_types; }),
              HasSubstr("node type"));
  EXPECT_THAT(error([](Observation& o) { o.graph.node_regions = {0}; }), HasSubstr("node regions"));
  spec.edge_features = 0;
  EXPECT_THAT(error([](Observation& o) {
                o.graph.edges.clear();
                o.graph.senders = o.graph.receivers = {100};
              }),
              HasSubstr("an edge ends at no node"));
}

TEST(EncodeState, RefusesRegionsThatDoNotFitTogether) {
  Rng rng(4);
  EnvSpec spec = random_spec(rng);
  while (spec.regions == 1 || spec.action_features == 0) spec = random_spec(rng);
  Observation good = random_observation(spec, rng);
  while (good.mask.region_counts[0] > 0) good = random_observation(spec, rng);
  EXPECT_NO_THROW(encode_state(spec, good));
  const auto error = [&](const std::function<void(Observation&)>& change) {
    Observation bad = good;
    change(bad);
    return error_of([&] { encode_state(spec, bad); });
  };
  EXPECT_THAT(error([&](Observation& o) { o.graph.node_regions[0] = spec.regions; }),
              HasSubstr("a region of a node is not below"));
  EXPECT_THAT(error([](Observation& o) { ++o.mask.region_counts[0]; }),
              HasSubstr("choices by region do not sum"));
  EXPECT_THAT(error([](Observation& o) { o.region_features[0] = 1; }),
              HasSubstr("a region without choices has features"));
  EXPECT_THAT(error([](Observation& o) { o.region_features.pop_back(); }),
              HasSubstr("region features"));
  EXPECT_THAT(error([](Observation& o) { o.mask.region_counts.clear(); }),
              HasSubstr("region counts"));
}

}  // namespace
}  // namespace reverie
