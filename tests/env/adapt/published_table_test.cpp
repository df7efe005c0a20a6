#include "env/adapt/published_table.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/base/files.h"
#include "env/adapt/adapt_environment.h"

namespace reverie::testing {
namespace {

Network deepened(const Network& network, const std::string& name) {
  const auto found = std::ranges::find(network.blocks, name, &Block::name);
  return adapt::changed(network,
                        {ChangeKind::kDeepen, static_cast<int>(found - network.blocks.begin())});
}

TEST(PublishedNetworks, HaveThePublishedSizes) {
  struct Expected {
    const char* name;
    int64_t parameters, multiply_adds;
    int64_t added_parameters[3], added_multiply_adds[3];
  };
  for (const Expected& expected :
       {Expected{"cnn1", 10602, 2335424, {9312, 9312, 110}, {8294400, 1557504, 100}},
        Expected{"cnn2", 20778, 16006208, {37056, 9312, 110}, {33177600, 7225344, 100}}}) {
    const Network network = published_network(expected.name);
    EXPECT_EQ(network.parameters(), expected.parameters);
    EXPECT_EQ(network.multiply_adds(), expected.multiply_adds);
    const char* blocks[] = {"conv1", "conv2", "linear"};
    for (int i = 0; i < 3; ++i) {
      const Network deeper = deepened(network, blocks[i]);
      EXPECT_EQ(deeper.parameters() - network.parameters(), expected.added_parameters[i])
          << blocks[i];
      EXPECT_EQ(deeper.multiply_adds() - network.multiply_adds(), expected.added_multiply_adds[i])
          << blocks[i];
      EXPECT_EQ(deepened(deeper, blocks[i]).parameters() - deeper.parameters(),
                expected.added_parameters[i]);
    }
  }
  EXPECT_THROW(published_network("cnn3"), InputError);
}

/// Three decisions, two actions; accuracies are made up.
std::string made_up_published() {
  std::string sequences;
  const std::string actions[] = {"0,0,0", "0,0,3", "0,3,3", "3,3,3"};
  for (int i = 0; i < 4; ++i)
    sequences += std::string(i > 0 ? "," : "") + "{\"actions\":[" + actions[i] +
                 "],\"accuracy\":0." + std::to_string(5 + i) + ",\"time_left_s\":[80,70," +
                 std::to_string(60 + i) + "],\"test_accuracy\":[0.3,0.4,0.5,0." +
                 std::to_string(5 + i) +
                 "],\"train_accuracy\":[0.3,0.4,0.5,0.6],\"evaluated_at_s\":[10,20,30,40]}";
  return R"({"format":"adapt-table/1","name":"made-up","network":{"name":"cnn1"},"budget_s":100,)"
         R"("adaptation_start_s":20,"decisions":3,"before_adaptation":{"test_accuracy":[0.1,0.2],)"
         R"("train_accuracy":[0.1,0.2],"evaluated_at_s":[8,17]},"sequences":[)" +
         sequences + "]}";
}

TEST(PublishedTable, TimeLeftIsThatOfTheFirstSequenceThatBeginsSo) {
  const auto source = table_source(published_table(Json::parse(made_up_published())));
  const auto job = source->start(0);
  EXPECT_DOUBLE_EQ(job->state().spent, 0.2);
  EXPECT_DOUBLE_EQ(job->state().epoch_share, 0.09);
  EXPECT_EQ(job->state().curve.size(), 2u);
  job->decide(ChangeAtRate{ChangeKind::kDeepen, 0, 0.01});
  EXPECT_DOUBLE_EQ(job->state().spent, 0.3);
  job->decide(std::nullopt);
  EXPECT_DOUBLE_EQ(job->state().spent, 1 - 0.62)
      << "of (0, 3, 3), the only one that begins with (0, 3)";
  EXPECT_EQ(job->state().curve.size(), 4u);
  EXPECT_DOUBLE_EQ(job->state().curve[2].spent, 0.3);
  EXPECT_DOUBLE_EQ(job->state().epoch_share, 0.1);
  job->decide(std::nullopt);
  EXPECT_EQ(job->state().curve.back().accuracy, 0.7);
  EXPECT_EQ(job->state().spent, 1);
  EXPECT_TRUE(job->state().over);
}

TEST(PublishedTable, WrongNumbersAreRefused) {
  const auto refusal = [](const std::string& from, const std::string& to) {
    std::string text = made_up_published();
    text.replace(text.find(from), from.size(), to);
    try {
      published_table(Json::parse(text));
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refusal("[0,0,3]", "[0,0,4]"), "sequence 2: there is no action 4; actions are 0 to 3");
  EXPECT_EQ(refusal("\"accuracy\":0.6", "\"accuracy\":0.7"),
            "sequence 2: its accuracy, 0.7, is not that of its last epoch");
  EXPECT_EQ(refusal("[80,70,61]", "[80,70]"),
            "sequence 2: 'time_left_s' must have 3 numbers, and there must be as many epochs");
  EXPECT_EQ(refusal("cnn1", "cnn9"),
            "there is no published network 'cnn9'; known are cnn1 and cnn2");
}

/// Published tables, which are not part of the project: the folder beside the checkout that holds
/// them.
const std::string kFolder = std::string(REVERIE_SOURCE_DIR) + "/../shared/adapt/";

struct Published {
  const char* name;
  std::vector<int> best;
  double best_accuracy, nothing;
  int nothing_rank;
  double mean;
};

const std::vector<Published> kPublished = {
    {"cnn1-early", {1, 1, 0}, 0.7391, 0.6221, 60, 0.6895},
    {"cnn1-middle", {0, 1, 0}, 0.7348, 0.6045, 60, 0.6690},
    {"cnn1-late", {0, 1, 1}, 0.6827, 0.5912, 50, 0.6189},
    {"cnn2-early-middle", {0, 0, 0}, 0.4215, 0.3607, 59, 0.3906}};

/// Final accuracy in percent of a sequence of actions 0 to 3, played in the environment.
double played(Environment& env, const std::vector<int>& actions) {
  env.reset(0);
  StepResult last;
  for (const int action : actions) {
    EXPECT_EQ(last.reward, 0);
    const ActionMask mask = env.mask();
    EXPECT_EQ(mask.total(1), 3);
    EXPECT_EQ(mask.total(2), 0) << "nothing is widened";
    last = env.step(action == 3 ? Action{0, 0, 0} : mask.choice(1, action));
  }
  EXPECT_TRUE(last.terminated);
  return last.info.best;
}

TEST(PublishedTable, PlaysThePublishedOutcomes) {
  for (const Published& published : kPublished) {
    const std::string path = kFolder + published.name + ".json";
    if (!file_exists(path)) GTEST_SKIP() << "the published tables are not there: " << path;
    SCOPED_TRACE(published.name);
    const AdaptTable table = read_table(path);
    EXPECT_EQ(table.sequences.size(), 64u);
    AdaptEnvironment env({{table_source(table), table.final_epochs}}, AdaptReward::kPublished);
    std::vector<std::pair<double, std::vector<int>>> results;
    double mean = 0;
    for (int i = 0; i < 64; ++i) {
      const std::vector<int> actions = {i / 16, i / 4 % 4, i % 4};
      results.emplace_back(played(env, actions), actions);
      mean += results.back().first / 64;
    }
    const auto best = std::ranges::max_element(results);
    EXPECT_EQ(best->second, published.best);
    EXPECT_NEAR(best->first, 100 * published.best_accuracy, 1e-9);
    EXPECT_NEAR(mean, 100 * published.mean, 0.01);
    env.reset(0);
    const StepInfo nothing = env.step({env.spec().no_op(), 0, 0}).info;
    EXPECT_NEAR(nothing.best, 100 * published.nothing, 1e-9);
    const auto better =
        std::ranges::count_if(results, [&](const auto& one) { return one.first > nothing.best; });
    EXPECT_EQ(better + 1, published.nothing_rank);
  }
}

}  // namespace
}  // namespace reverie::testing
