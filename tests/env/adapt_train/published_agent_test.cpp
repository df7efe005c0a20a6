#include "env/adapt/train/published_agent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "core/base/error.h"
#include "env/adapt/features.h"
#include "env/adapt/published_table.h"
#include "env/adapt/table.h"
#include "tests/env/adapt/networks.h"

namespace reverie::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pointwise;

/// Three decisions on the first published network, accuracies by the number of deepenings of the
/// second convolution.
AdaptStart small_start() {
  AdaptTable table;
  table.scenario = "small";
  table.rates = {0.01};
  const Network network = published_network("cnn1");
  for (int sequence = 0; sequence < 64; ++sequence) {
    JobState state;
    state.network = network;
    state.curve = {{0.4, 0.4, 0, 0.1}};
    state.spent = 0.1;
    std::vector<JobState> states = {state};
    double accuracy = 0.3;
    for (const int action : {sequence / 16, sequence / 4 % 4, sequence % 4}) {
      std::optional<ChangeAtRate> decision;
      if (action < 3) decision = ChangeAtRate{ChangeKind::kDeepen, 2 * action, 0.01};
      state.network = after_decision(state.network, decision);
      accuracy += action == 1 ? 0.15 : 0;
      state.decisions.push_back(decision);
      state.spent += 0.3;
      state.curve.push_back({accuracy, accuracy, 0, state.spent});
      state.over = state.decisions.size() == 3;
      states.push_back(state);
    }
    table.add(0, states);
  }
  return {table_source(std::move(table)), 1};
}

int64_t trained(const PublishedPolicy& policy) {
  int64_t count = 0;
  for (const torch::Tensor& parameter : policy.parameters()) count += parameter.numel();
  return count;
}

PublishedAgent agent_for(const std::string& network, PublishedAgentConfig config = {}) {
  return PublishedAgent({published_network(network)}, config);
}

std::vector<float> values(const torch::Tensor& tensor) {
  const torch::Tensor flat = tensor.detach().contiguous();
  return {flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel()};
}

auto near(const std::vector<float>& expected) { return Pointwise(FloatNear(1e-5f), expected); }

std::vector<float> weights_of(const PublishedAgent& agent) {
  std::vector<float> all;
  for (const torch::Tensor& parameter : agent.policy().parameters())
    for (const float value : values(parameter)) all.push_back(value);
  return all;
}

TEST(PublishedPolicy, HasThePublishedSize) {
  EXPECT_EQ(trained(agent_for("cnn1").policy()), 54980);
  EXPECT_EQ(trained(agent_for("cnn2").policy()), 54980);
  EXPECT_EQ(trained(agent_for("cnn1", {.kind = PublishedKind::kMended}).policy()), 54980);
}

TEST(PublishedPolicy, PrintsLayersInTheirOrder) {
  const std::vector<std::string> layers = printed_layers(published_network("cnn1"));
  EXPECT_THAT(layers,
              ElementsAre("Conv2d(3, 32, kernel_size=(3, 3), stride=(1, 1))", "BatchNorm2d(32)",
                          "ReLU()", "AvgPool2d(kernel_size=(2, 2), stride=(2, 2))",
                          "Conv2d(32, 32, kernel_size=(3, 3), stride=(1, 1))", "BatchNorm2d(32)",
                          "ReLU()", "AdaptiveAvgPool2d(output_size=(1, 1))",
                          "Linear(in_features=32, out_features=10)", "ReLU()"));
  EXPECT_EQ(printed_layers(published_network("cnn2")).size(), 9u);
}

/// Ids are those of the published file of them.
TEST(PublishedPolicy, IdsCollideAsPublished) {
  const Network one = published_network("cnn1"), two = published_network("cnn2");
  const LayerVocabulary of_one(PublishedKind::kPublished, {one}),
      of_two(PublishedKind::kPublished, {two});
  EXPECT_THAT(of_one.ids(one), ElementsAre(0, 1, 2, 3, 5, 4, 2, 3, 6, 7, 3));
  EXPECT_THAT(of_two.ids(two), ElementsAre(0, 9, 10, 3, 11, 2, 3, 6, 7, 3));
  const Network deeper =
      adapt::changed(adapt::changed(two, {ChangeKind::kDeepen, 3}), {ChangeKind::kDeepen, 0});
  EXPECT_THAT(of_two.ids(deeper), ElementsAre(0, 9, 10, 3, 10, 10, 3, 11, 2, 3, 6, 7, 3, 9, 3));
  const LayerVocabulary mended(PublishedKind::kMended, {two});
  const std::vector<int64_t> ids = mended.ids(deeper);
  const std::vector<std::string> layers = printed_layers(deeper);
  EXPECT_EQ(std::set(ids.begin() + 1, ids.end()).size(),
            std::set(layers.begin(), layers.end()).size());
  EXPECT_THROW(mended.ids(one), InputError);
}

TEST(PublishedPolicy, SeesTheTimeAsPublished) {
  EXPECT_THAT(time_features(PublishedKind::kPublished, 0.5), Each(FloatNear(0, 1e-5)));
  const float r = 5 * std::sqrt(0.5f);
  EXPECT_THAT(time_features(PublishedKind::kPublished, 0.125), near({r, 5, r, 0, -r, -5, -r, 0}));
  EXPECT_THAT(time_features(PublishedKind::kMended, 0.125), near({r, r, 5, 0, r, -r, 0, -5}));
  EXPECT_THAT(time_features(PublishedKind::kMended, 0.5), near({0, -5, 0, 5, 0, -5, 0, 5}));
}

TEST(PublishedPolicy, AProbabilityForEveryAction) {
  const PublishedAgent agent = agent_for("cnn1");
  const auto p = agent.policy().probabilities(published_network("cnn1"), 0.3, 1);
  ASSERT_EQ(p.numel(), 4);
  EXPECT_NEAR(p.sum().item<float>(), 1, 1e-5);
  const Network deeper = adapt::changed(published_network("cnn1"), {ChangeKind::kDeepen, 0});
  EXPECT_THAT(values(agent.policy().probabilities(deeper, 0.3, 1)),
              Not(Pointwise(FloatNear(1e-6), values(p))));
  EXPECT_THAT(values(agent.policy().probabilities(published_network("cnn1"), 0.6, 1)),
              Not(Pointwise(FloatNear(1e-6), values(p))));
}

/// As published a temperature of 10 leaves no two actions more than e^0.1 apart; of logits it keeps
/// more.
TEST(PublishedPolicy, ATemperatureOfProbabilitiesMakesThemEqual) {
  for (const PublishedKind kind : {PublishedKind::kPublished, PublishedKind::kMended}) {
    const Network network = published_network("cnn1");
    const PublishedAgent agent({network}, {.kind = kind});
    const torch::NoGradGuard guard;
    torch::Tensor bias = agent.policy().parameters().back();
    bias[0] += 20;
    const auto ratio = [&](double temperature) {
      const auto p = agent.policy().probabilities(network, 0.3, temperature);
      return (p.max() / p.min()).item<double>();
    };
    EXPECT_GT(ratio(1), std::exp(15));
    if (kind == PublishedKind::kPublished)
      EXPECT_NEAR(ratio(10), std::exp(0.1), 1e-3);
    else
      EXPECT_GT(ratio(10), std::exp(1.5));
  }
}

TEST(PublishedAgent, LearnsTheBestSequence) {
  const AdaptStart start = small_start();
  for (const PublishedKind kind : {PublishedKind::kPublished, PublishedKind::kMended})
    for (const bool baseline : {false, true}) {
      PublishedAgent agent =
          agent_for("cnn1", {.kind = kind, .baseline = baseline, .episodes = 400});
      agent.learn(start);
      EXPECT_NEAR(mean_accuracy(agent.play(start, 0)->state().curve, 1), 0.75, 1e-9) << baseline;
    }
}

/// Its three blocks with a ReLU, or none.
TEST(PublishedAgent, TakesAnyChain) {
  Network network = parse_network(R"(
image: [1, 8, 8]
blocks:
  - {conv: 4, name: a}
  - {max_pool: 2, name: pool}
  - {conv: 6, name: b, batch_norm: false}
  - {conv: 6, name: c, relu: false}
  - {linear: 7, name: d}
  - {linear: 5, name: e}
)",
                                  "chain");
  const PublishedAgent agent({network}, {});
  EXPECT_EQ(agent.policy().probabilities(network, 0.5, 1).numel(), 4);
}

TEST(PublishedAgent, EqualSeedsGiveEqualResults) {
  const AdaptStart start = small_start();
  std::vector<std::vector<float>> weights;
  for (const uint64_t seed : {3, 3, 4}) {
    PublishedAgent agent = agent_for("cnn1", {.episodes = 20, .seed = seed});
    agent.learn(start);
    weights.push_back(weights_of(agent));
  }
  EXPECT_EQ(weights[0], weights[1]);
  EXPECT_NE(weights[0], weights[2]);
}

TEST(PublishedAgent, GoesOnWithItsPolicy) {
  const AdaptStart start = small_start();
  PublishedAgent agent = agent_for("cnn1", {.baseline = true, .episodes = 300, .temperature = 10});
  int episodes = 0, last = 0;
  const auto count = [&](int episode, const JobState& end) {
    EXPECT_TRUE(end.over);
    last = episode;
    ++episodes;
  };
  agent.learn(start, count);
  agent.learn(start, count);
  EXPECT_EQ(episodes, 600);
  EXPECT_EQ(last, 300);
  EXPECT_NEAR(mean_accuracy(agent.play(start, 0)->state().curve, 1), 0.75, 1e-9);
}

/// A job that needs gradients when it is started and at each decision, as one of real training.
class JobWithGradients : public TrainingJob {
 public:
  explicit JobWithGradients(std::unique_ptr<TrainingJob> job) : job_(std::move(job)) {
    expect_gradients();
  }
  const JobState& state() const override { return job_->state(); }
  void decide(const std::optional<ChangeAtRate>& decision) override {
    expect_gradients();
    job_->decide(decision);
  }
  std::unique_ptr<TrainingJob> copy() const override {
    return std::make_unique<JobWithGradients>(job_->copy());
  }

 private:
  static void expect_gradients() { EXPECT_TRUE(torch::GradMode::is_enabled()); }
  std::unique_ptr<TrainingJob> job_;
};

class SourceWithGradients : public JobSource {
 public:
  explicit SourceWithGradients(std::shared_ptr<const JobSource> source)
      : source_(std::move(source)) {}
  std::string name() const override { return source_->name(); }
  std::string scenario() const override { return source_->scenario(); }
  uint64_t fingerprint() const override { return source_->fingerprint(); }
  int decisions() const override { return source_->decisions(); }
  bool offers(const JobState& state, const ChangeAtRate& change) const override {
    return source_->offers(state, change);
  }
  const std::vector<double>& rates() const override { return source_->rates(); }
  bool deterministic() const override { return true; }
  std::unique_ptr<TrainingJob> start(uint64_t seed) const override {
    return std::make_unique<JobWithGradients>(source_->start(seed));
  }

 private:
  std::shared_ptr<const JobSource> source_;
};

TEST(PublishedAgent, LetsJobsTrain) {
  const AdaptStart start{std::make_shared<SourceWithGradients>(small_start().source), 1};
  PublishedAgent agent = agent_for("cnn1", {.episodes = 2});
  agent.learn(start);
  EXPECT_TRUE(agent.play(start, 0)->state().over);
}

std::string refusal_of(const std::vector<Network>& networks) {
  try {
    const PublishedAgent agent(networks, {});
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(PublishedAgent, RefusesWhatItCannotRead) {
  EXPECT_THAT(refusal_of({residual_network()}), HasSubstr("block 'outer' is not part of a chain"));
  EXPECT_THAT(
      refusal_of({parse_network("{image: [1, 4, 4], blocks: [{linear: 3, name: output}]}", "one")}),
      HasSubstr("no block that can be deepened"));
  EXPECT_THAT(refusal_of({published_network("cnn1"), small_network()}),
              HasSubstr("3 and 2 blocks"));
}

}  // namespace
}  // namespace reverie::testing
