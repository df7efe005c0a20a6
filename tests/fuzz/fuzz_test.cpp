#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/cost/table.h"
#include "datasets/collect.h"
#include "datasets/shard.h"
#include "env/toy/knapsack_environment.h"
#include "tests/fuzz/layouts.h"
#include "tests/fuzz/target.h"

namespace reverie::fuzz {
namespace {

namespace fs = std::filesystem;

/// What the reader says; nothing where it takes the bytes. Every other exception is a fault.
std::string objection(const Target& target, std::string_view bytes) {
  try {
    target.read(bytes);
    return {};
  } catch (const InputError& error) {
    return error.what();
  }
}

std::map<std::string, std::string> corpus_of(const Target& target) {
  std::map<std::string, std::string> files;
  const fs::path folder = fs::path(REVERIE_SOURCE_DIR) / "tests/fuzz/corpus" / target.name;
  for (const auto& entry : fs::directory_iterator(folder))
    files[entry.path().filename().string()] = read_file(entry.path().string());
  return files;
}

std::string mutated(std::string bytes, Rng& rng) {
  const auto at = static_cast<size_t>(rng.below(bytes.size()));
  const auto length = static_cast<size_t>(rng.below(8)) + 1;
  switch (rng.below(4)) {
    case 0:
      bytes[at] = static_cast<char>(rng.below(256));
      break;
    case 1:
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << rng.below(8)));
      break;
    case 2:
      bytes.erase(at, length);
      break;
    default:
      bytes.insert(at, bytes.substr(static_cast<size_t>(rng.below(bytes.size())), length));
  }
  return bytes;
}

/// Files that once broke something have a name that begins so; they may be refused.
bool is_of_a_fault(const std::string& name) { return name.starts_with("fault"); }

/// Changed files that a reader is shown for each file of its corpus; REVERIE_FUZZ_INPUTS asks for
/// more.
int mutants_wanted() {
  constexpr int kMutants = 100;
  const char* wanted = std::getenv("REVERIE_FUZZ_INPUTS");
  return wanted != nullptr ? std::atoi(wanted) : kMutants;
}

class Readers : public ::testing::TestWithParam<Target> {};

TEST_P(Readers, TakeTheCorpusAndSurviveWhatIsMadeOfIt) {
  const auto corpus = corpus_of(GetParam());
  ASSERT_FALSE(corpus.empty());
  for (const auto& [name, bytes] : corpus) {
    const std::string said = objection(GetParam(), bytes);
    if (!is_of_a_fault(name)) {
      EXPECT_EQ(said, "") << name;
    }
    Rng rng(1);
    for (int i = 0; i < mutants_wanted() && !bytes.empty(); ++i) {
      std::string mutant = bytes;
      for (uint64_t changes = 1 + rng.below(4); changes > 0 && !mutant.empty(); --changes)
        mutant = mutated(mutant, rng);
      try {
        objection(GetParam(), mutant);
      } catch (const std::exception& error) {
        FAIL() << "mutant " << i << " of " << name << ": " << error.what();
      }
    }
  }
  objection(GetParam(), "");
}

INSTANTIATE_TEST_SUITE_P(All, Readers, ::testing::ValuesIn(kTargets),
                         [](const auto& target) { return std::string(target.param.name); });

std::string sealed_of(const hdf5::FileKind& kind, const Layout& layout, const std::string& image) {
  const hdf5::Reader reader(image, "image");
  return hdf5::sealed(kind, image_of(layout, bytes_of(layout, reader)));
}

TEST(Layouts, HoldAllThatAShardHolds) {
  const KnapsackEnvironment environment{{}};
  const TemporaryDirectory folder;
  CollectConfig config;
  config.agent = "random";
  config.episodes = 2;
  collect(environment, *make_collect_agent(config), config,
          {.directory = folder.path(), .config = "seed: 1"});
  const std::string file = read_file(folder / "shard-00000.h5");
  const std::string image(hdf5::unseal(kRolloutFile, file, "shard").image);
  const std::string again = as_file("again.h5", sealed_of(kRolloutFile, rollout_layout(), image));
  const Shard first = read_shard(folder / "shard-00000.h5"), second = read_shard(again);
  EXPECT_EQ(first.info, second.info);
  EXPECT_EQ(first.episodes, second.episodes);
  EXPECT_EQ(first.states.size(), second.states.size());
}

TEST(Layouts, HoldAllThatACostTableHolds) {
  CostTable table = {.device = "a processor", .library = "one", .driver = "", .profile = "cpu"};
  table.entries["Relu(float32 8)"] = {
      .runtime = {1000}, .repeats = 3, .estimate = {900}, .flops = 8};
  const TemporaryDirectory folder;
  write_cost_table(folder / "costs.h5", table);
  hdf5::FileKind kind;
  kind.magic = "reverie cost table";
  kind.schema = kCostTableSchema;
  const std::string file = read_file(folder / "costs.h5");
  const std::string image(hdf5::unseal(kind, file, "costs").image);
  EXPECT_EQ(read_cost_table(as_file("again.h5", sealed_of(kind, cost_table_layout(), image))),
            table);
}

}  // namespace
}  // namespace reverie::fuzz
