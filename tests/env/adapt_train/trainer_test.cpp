#include "env/adapt/train/trainer.h"

#include <ATen/Parallel.h>
#include <gmock/gmock.h>

#include "core/base/files.h"
#include "core/base/json.h"
#include "tests/env/adapt_train/quadrants.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using testing::error;
using ::testing::HasSubstr;
using testing::kTrainImages;
using testing::quadrant_network;
using testing::quadrants;

class Training : public ::testing::Test {
 protected:
  Training() { testing::write_quadrants(folder.path()); }

  std::unique_ptr<TrainingSource> source() {
    return make_training_source(quadrant_network(), "quadrants", config);
  }
  std::unique_ptr<RealJob> begun(uint64_t seed = 1) { return source()->begin(seed); }
  std::unique_ptr<RealJob> at_first_decision(uint64_t seed = 1) {
    auto job = begun(seed);
    job->go_on();
    return job;
  }
  std::string bytes(const TrainingJob& job) {
    dynamic_cast<const RealJob&>(job).save(folder / "job");
    return read_file(folder / "job");
  }
  Json header(const TrainingJob& job) {
    const std::string file = bytes(job);
    uint64_t length;
    std::memcpy(&length, file.data() + 8, sizeof length);
    return Json::parse(std::string_view(file).substr(16, length));
  }
  /// The soft targets in a saved job, which end it but for the checksum.
  static std::vector<float> targets_in(const std::string& file) {
    std::vector<float> targets(4 * kTrainImages);
    const size_t size = targets.size() * sizeof(float);
    std::memcpy(targets.data(), file.data() + file.size() - 4 - size, size);
    return targets;
  }
  /// Of the multiply-adds of the first network.
  static double growth(const ChangeAtRate& change) {
    const Network first = quadrant_network();
    return static_cast<double>(adapt::changed(first, change.in(first)).multiply_adds()) /
           static_cast<double>(first.multiply_adds());
  }
  /// Extra processors while two changes are decided on, which then go.
  void lend_processors() {
    config.extra = {.from = 0.1, .until = 0.5, .factor = 4};
    config.from = 0.2;
  }

  const ChangeAtRate deepen{ChangeKind::kDeepen, 0, 0.01}, widen{ChangeKind::kWiden, 0, 0.003};
  TemporaryDirectory folder;
  TrainingConfig config = testing::quadrants_config(folder.path());
};

TEST_F(Training, ATinyJobLearns) {
  config.budget = 60;
  const auto job = source()->start(1);
  job->decide(std::nullopt);
  job->decide(std::nullopt);
  EXPECT_TRUE(job->state().over);
  EXPECT_EQ(job->state().curve.size(), 60u);
  EXPECT_GT(job->state().curve.back().accuracy, 0.9);
  EXPECT_GT(job->state().curve.back().train_accuracy, 0.9);
  EXPECT_LT(job->state().curve.back().loss, 0.5 * job->state().curve.front().loss);
}

TEST_F(Training, ItLearnsOnAfterChanges) {
  config.budget = 60;
  config.noise = 0.25;
  const auto job = source()->start(1);
  job->decide(deepen);
  job->decide(widen);
  EXPECT_TRUE(job->state().over);
  EXPECT_GT(job->state().curve.back().accuracy, 0.9);
}

TEST_F(Training, EqualSeedsGiveEqualBytesForAnyThreadsOfTheCaller) {
  const int before = at::get_num_threads();
  std::string first;
  for (const int threads : {1, 2}) {
    at::set_num_threads(threads);
    const auto job = source()->start(7);
    job->decide(deepen);
    job->decide(widen);
    EXPECT_EQ(at::get_num_threads(), threads);
    if (first.empty()) first = bytes(*job);
    EXPECT_EQ(bytes(*job), first);
  }
  at::set_num_threads(before);
}

TEST_F(Training, ItTrainsTheSameWhereItsCallerComputesNoGradients) {
  const auto finished = [&] {
    const auto job = source()->start(7);
    job->decide(deepen);
    job->decide(widen);
    return bytes(*job);
  };
  const std::string expected = finished();
  const torch::NoGradGuard guard;
  EXPECT_EQ(finished(), expected);
  EXPECT_FALSE(torch::GradMode::is_enabled());
}

TEST_F(Training, SeedsDifferFromTheFirstDecisionOn) {
  const auto own = source();
  const auto one = own->start(7), two = own->start(8), again = own->start(7);
  const auto begun = own->begin(8);
  begun->go_on();
  EXPECT_EQ(one->state(), two->state());
  EXPECT_EQ(begun->state(), two->state());
  for (auto* job : {&one, &two, &again}) (*job)->decide(deepen);
  begun->decide(deepen);
  EXPECT_NE(one->state().curve, two->state().curve);
  EXPECT_EQ(bytes(*one), bytes(*again));
  EXPECT_EQ(bytes(*begun), bytes(*two));
}

TEST_F(Training, ACopyGoesOnAsTheOriginalAndLeavesItAlone) {
  const auto original = source()->start(3);
  const auto copy = original->copy(), other = original->copy();
  const std::string before = bytes(*original);
  other->decide(std::nullopt);
  EXPECT_EQ(bytes(*original), before);
  original->decide(deepen);
  EXPECT_EQ(bytes(*copy), before);
  copy->decide(deepen);
  EXPECT_EQ(bytes(*copy), bytes(*original));
  EXPECT_EQ(copy->state(), original->state());
  EXPECT_NE(other->state().curve, original->state().curve);
}

/// A run that ends after so many epochs, is saved, loaded, and goes on.
class Kill {};

TEST_F(Training, SavedAfterAnyEpochItGoesOnToTheSameBytes) {
  lend_processors();
  config.noise = 0.1;
  const Decisions decisions = {deepen, widen};
  const auto run = [&](size_t kill_after) {
    const auto own = source();
    auto job = own->begin(5);
    while (!job->state().over) {
      try {
        job->go_on([&](const RealJob& now) {
          if (now.state().curve.size() != kill_after) return;
          now.save(folder / "killed");
          kill_after = 0;
          throw Kill();
        });
      } catch (const Kill&) {
        job = source()->load(folder / "killed");
        continue;
      }
      if (!job->state().over) job->take(decisions.at(job->state().decisions.size()));
    }
    EXPECT_EQ(kill_after, 0u);
    return bytes(*job);
  };
  const std::string unbroken = run(0);
  const size_t epochs = header(*source()->load(folder / "job")).at("curve").array().size();
  ASSERT_GE(epochs, 8u);
  for (size_t kill_after = 1; kill_after < epochs; ++kill_after)
    EXPECT_EQ(run(kill_after), unbroken) << kill_after;
}

TEST_F(Training, FilesThatAreNotThisJobsAreRefused) {
  const std::string whole = bytes(*at_first_decision());
  const auto load = [&] { return error([&] { source()->load(folder / "job"); }); };
  EXPECT_EQ(load(), "accepted");
  for (const size_t at : {size_t{20}, whole.size() / 2, whole.size() - 1}) {
    std::string bad = whole;
    bad[at] ^= 1;
    write_file(folder / "job", bad);
    EXPECT_THAT(load(), HasSubstr("job: is damaged"));
  }
  write_file(folder / "job", whole.substr(0, 17));
  EXPECT_THAT(load(), HasSubstr("job: is damaged"));
  write_file(folder / "job", "something else that is long enough");
  EXPECT_THAT(load(), HasSubstr("job: is no saved job"));
  write_file(folder / "job", whole);
  config.every = 3;
  EXPECT_THAT(load(), HasSubstr("job: the job is of another network, data or configuration"));
}

TEST_F(Training, AnEpochThatTheBudgetBreaksOffIsNeitherRecordedNorKept) {
  const auto finished = [&](double budget) {
    config.budget = budget;
    config.from = 1 / budget - 1e-6;  // behind the first epoch
    auto job = source()->start(1);
    while (!job->state().over) job->decide(std::nullopt);
    return job;
  };
  const auto whole = finished(5), part = finished(5.5);
  ASSERT_EQ(whole->state().curve.size(), 5u);
  ASSERT_EQ(part->state().curve.size(), 5u);
  EXPECT_EQ(part->state().spent, 1);
  for (int epoch = 0; epoch < 5; ++epoch) {
    EXPECT_NEAR(whole->state().curve[static_cast<size_t>(epoch)].spent, (epoch + 1) / 5.0, 1e-9);
    EXPECT_NEAR(part->state().curve[static_cast<size_t>(epoch)].spent, (epoch + 1) / 5.5, 1e-9);
  }
  const auto parameters = [](const TrainingJob& job) {
    return dynamic_cast<const TrainerJob&>(job).weights().parameters();
  };
  for (size_t i = 0; i < parameters(*whole).size(); ++i)
    EXPECT_TRUE(torch::equal(parameters(*whole)[i], parameters(*part)[i]));
}

TEST_F(Training, AnEpochTakesTheShareThatWasSaid) {
  const auto job = at_first_decision();
  EXPECT_NEAR(job->state().epoch_share, 1 / 12.0, 1e-9);
  const double ratio = growth(deepen);
  EXPECT_GT(ratio, 1.2);
  job->take(deepen);
  EXPECT_NEAR(job->state().epoch_share, ratio / 12, 1e-9);
  const double before = job->state().spent;
  job->go_on();
  EXPECT_NEAR(job->state().spent - before, 2 * ratio / 12, 1e-9);
}

TEST_F(Training, DecisionsComeWhenTheScheduleSays) {
  const auto job = at_first_decision();
  EXPECT_EQ(job->state().curve.size(), 3u);  // 0.24 of 12 epochs
  const JobState before = job->state();
  EXPECT_THAT(error([&] {
                job->take(ChangeAtRate{ChangeKind::kDeepen, 1, 0.01});
              }),
              HasSubstr("pool"));
  EXPECT_THAT(error([&] {
                job->take(ChangeAtRate{ChangeKind::kDeepen, 0, -1});
              }),
              HasSubstr("learning rate of -1"));
  EXPECT_EQ(job->state(), before);
  job->take(std::nullopt);
  EXPECT_THAT(error([&] { job->take(std::nullopt); }), HasSubstr("stands at no decision"));
  job->go_on();
  EXPECT_EQ(job->state().curve.size(), 5u);
  EXPECT_EQ(job->state().network.blocks[0].age, 1);
  job->decide(deepen);
  EXPECT_TRUE(job->state().over);
  EXPECT_EQ(job->state().spent, 1);
  EXPECT_THAT(job->state().decisions, ::testing::ElementsAre(std::nullopt, deepen));
  EXPECT_THAT(error([&] { job->decide(std::nullopt); }), HasSubstr("the budget is spent"));
}

TEST_F(Training, ADecisionCanComeBeforeTheFirstEpoch) {
  config.from = 0;
  const auto job = source()->start(1);
  EXPECT_TRUE(job->state().curve.empty());
  job->decide(deepen);
  EXPECT_EQ(job->state().curve.size(), 2u);
}

TEST_F(Training, ExtraProcessorsMakeEpochsCheaperAndGo) {
  config.extra = {.from = 0.25, .until = 0.5, .factor = 2};
  config.decisions = 1;
  const auto job = at_first_decision();
  EXPECT_EQ(job->state().throughput, 2);
  EXPECT_NEAR(job->state().epoch_share, 1 / 24.0, 1e-9);
  job->decide(std::nullopt);
  EXPECT_EQ(job->state().curve.size(), 15u);  // 3, then 6 in a quarter, then 6 in half
  EXPECT_EQ(job->state().throughput, 1);
  EXPECT_EQ(header(*job).find("teacher"), nullptr) << "it never grew";
}

TEST_F(Training, AnEpochThatEndsAsProcessorsGoIsRecorded) {
  config.decisions = 1;
  config.from = 0;
  const double ratio = growth(deepen);
  config.extra = {.from = 0, .until = 3 * ratio / 12 / 4, .factor = 4};
  const auto job = source()->start(1);
  job->decide(deepen);
  EXPECT_NEAR(job->state().curve.at(2).spent, config.extra.until, 1e-9);
}

TEST_F(Training, AForeseenJobTakesTheSameCourseWithoutTraining) {
  config.noise = 0.25;
  for (const bool lent : {false, true}) {
    if (lent) lend_processors();
    const auto jobs = source();
    ASSERT_TRUE(jobs->foresees());
    const auto real = jobs->start(5), foreseen = jobs->foresee();
    EXPECT_EQ(foreseen->state(), real->state());
    const size_t epochs = real->state().curve.size();
    for (const auto& decision : {deepen, widen}) {
      real->decide(decision);
      foreseen->decide(decision);
      JobState blank = real->state();
      for (size_t i = epochs; i < blank.curve.size(); ++i)
        blank.curve[i] = {.spent = blank.curve[i].spent};
      EXPECT_EQ(foreseen->state(), blank);
      EXPECT_EQ(foreseen->copy()->state(), blank);
    }
    EXPECT_TRUE(foreseen->state().over);
    const bool small = real->state().network.parameters() == quadrant_network().parameters();
    EXPECT_EQ(small, lent) << "it went back";
  }
}

TEST_F(Training, OfSecondsNothingIsForeseen) {
  config.unit = BudgetUnit::kSeconds;
  EXPECT_FALSE(source()->foresees());
  EXPECT_EQ(source()->foresee(), nullptr);
}

TEST_F(Training, WhenProcessorsGoTheSmallerNetworkLearnsFromTheLarger) {
  lend_processors();
  const auto job = at_first_decision();
  EXPECT_EQ(job->state().throughput, 4);
  job->take(deepen);
  job->go_on();
  job->take(widen);
  EXPECT_GT(job->state().network.multiply_adds(), 2 * quadrant_network().multiply_adds());
  std::vector<double> shares, losses;
  std::vector<float> targets;
  double spent_larger = 0;
  job->go_on([&](const RealJob& now) {
    if (now.state().network.blocks.size() > 5) {
      spent_larger = now.state().spent;
      EXPECT_EQ(now.state().throughput, 4);
      return;
    }
    const Json head = header(now);
    losses.push_back(now.state().curve.back().loss);
    if (targets.empty()) targets = targets_in(bytes(now));
    shares.push_back(head.find("teacher") == nullptr ? 0 : head.at("teacher").get<double>());
    EXPECT_EQ(head.find("smaller"), nullptr);
  });
  EXPECT_LT(spent_larger, 0.5);
  ASSERT_GE(shares.size(), 4u);
  EXPECT_NEAR(shares[0], 0.75 * 0.25, 1e-12);
  EXPECT_NEAR(shares[1], 0.75 * 0.0625, 1e-12);
  EXPECT_EQ(shares[3], 0);
  for (int i = 0; i < 2; ++i)
    EXPECT_GT(losses[static_cast<size_t>(i)], losses[static_cast<size_t>(i) + 1]);
  EXPECT_GT(losses[0], 2) << "the squared temperature multiplies the soft part";
  const auto soft = torch::tensor(targets).view({-1, 4});
  EXPECT_TRUE(torch::allclose(soft.sum(1), torch::ones(kTrainImages)));
  const auto labels = torch::tensor(quadrants(kTrainImages, Rng(1)).labels).to(torch::kLong);
  EXPECT_GT(soft.argmax(1).eq(labels).sum().item<int64_t>(), kTrainImages / 2);
  Network expected = quadrant_network();
  for (Block& block : expected.blocks) block.age = 2;
  EXPECT_EQ(job->state().network, expected);
  EXPECT_EQ(job->state().decisions.size(), 2u);
  EXPECT_TRUE(job->state().over);
}

TEST_F(Training, DecisionsNameTheirBlocksAlsoWhenTheNetworkWentBack) {
  config.extra = {.from = 0.1, .until = 0.4, .factor = 2};
  config.from = 0.2;
  config.every = 6;
  const auto job = at_first_decision();
  job->decide(deepen);
  EXPECT_EQ(job->state().network.blocks.size(), 5u) << "the processors are gone";
  job->decide(ChangeAtRate{ChangeKind::kWiden, 2, 0.003});
  EXPECT_EQ(job->state().network.blocks[2].width, 8);
  EXPECT_EQ(decisions_text(job->state(), true), "deepen a at 0.01, widen b at 0.003");
}

TEST_F(Training, TheDecisionSetsTheRateUnlessAsPublished) {
  const auto rate_after = [&](const std::optional<ChangeAtRate>& decision) {
    const auto job = at_first_decision();
    job->decide(decision);
    return header(*job).at("rate").get<double>();
  };
  EXPECT_NEAR(rate_after(std::nullopt), 0.01 * std::pow(0.9, 5), 1e-12);
  EXPECT_NEAR(rate_after(ChangeAtRate{ChangeKind::kDeepen, 0, 0.003}), 0.003 * 0.81, 1e-12);
  config.restart = Restart::kPublished;
  config.rates = {0.01};
  EXPECT_NEAR(rate_after(std::nullopt), 0.01 * 0.9, 1e-12);
  EXPECT_NEAR(rate_after(deepen), 0.01 * 0.9, 1e-12);
}

TEST_F(Training, ALossThatIsNoNumberIsAnError) {
  const auto job = at_first_decision();
  EXPECT_THAT(error([&] {
                job->decide(ChangeAtRate{ChangeKind::kDeepen, 0, 1e30});
              }),
              HasSubstr("the training loss is"));
}

TEST_F(Training, OfSecondsItEndsInTime) {
  config.unit = BudgetUnit::kSeconds;
  config.budget = 1.5;
  config.from = 0.1;
  config.extra = {.from = 0.3, .until = 0.6, .factor = 2};
  const auto own = source();
  EXPECT_FALSE(own->deterministic());
  const auto job = own->start(1);
  EXPECT_GE(job->state().spent, 0.1);
  EXPECT_GT(job->state().epoch_share, 0);
  EXPECT_LT(job->state().epoch_share, 0.5);
  const Stopwatch watch;
  job->decide(deepen);
  job->decide(std::nullopt);
  EXPECT_LT(watch.seconds(), 3);
  EXPECT_TRUE(job->state().over);
  EXPECT_EQ(job->state().spent, 1);
  EXPECT_GT(job->state().curve.size(), 5u);
}

TEST_F(Training, TheSourceSaysWhatItOffers) {
  const auto own = source();
  EXPECT_EQ(own->name(), "train");
  EXPECT_EQ(own->scenario(), "quadrants");
  EXPECT_TRUE(own->deterministic());
  EXPECT_EQ(own->decisions(), 2);
  EXPECT_THAT(own->rates(), ::testing::ElementsAre(0.001, 0.003, 0.01));
  const auto job = own->start(1);
  EXPECT_TRUE(own->offers(job->state(), deepen));
  EXPECT_FALSE(own->offers(job->state(), {ChangeKind::kDeepen, 0, 0.02}));
  EXPECT_FALSE(own->offers(job->state(), {ChangeKind::kWiden, 1, 0.01}));
  const uint64_t fingerprint = own->fingerprint();
  EXPECT_EQ(source()->fingerprint(), fingerprint);
  config.decay = 0.8;
  EXPECT_NE(source()->fingerprint(), fingerprint);
}

TEST_F(Training, SettingsThatContradictEachOtherAreRefused) {
  const auto refused = [&](auto change) {
    const TrainingConfig before = config;
    change(config);
    const std::string message = error([&] { source()->start(1); });
    config = before;
    EXPECT_THAT(message, HasSubstr("quadrants: "));
    return message;
  };
  EXPECT_THAT(refused([](auto& c) {
                c.rates = {0.01, 0.003};
              }),
              HasSubstr("rates must be ascending"));
  EXPECT_THAT(refused([](auto& c) { c.restart = Restart::kPublished; }),
              HasSubstr("set rates=[0.01]"));
  EXPECT_THAT(refused([](auto& c) {
                c.extra = {0.5, 0.5, 2};
              }),
              HasSubstr("extra.from (0.5) must be less"));
  EXPECT_THAT(refused([](auto& c) { c.unit = BudgetUnit::kSeconds, c.from = 0; }),
              HasSubstr("from must be above 0"));
  EXPECT_THAT(refused([](auto& c) { c.unit = BudgetUnit::kSeconds, c.extra.factor = 1.5; }),
              HasSubstr("threads"));
  EXPECT_THAT(refused([](auto& c) { c.train_images = 97; }), HasSubstr("leave a batch of one"));
  EXPECT_THAT(refused([](auto& c) { c.budget = 0.5; }), HasSubstr("is less than one"));
  EXPECT_THAT(refused([](auto& c) { c.budget = 1.5, c.from = 0.9; }),
              HasSubstr("ends before the first decision"));
  EXPECT_THAT(refused([](auto& c) { c.unit = BudgetUnit::kSeconds, c.budget = 1e-6; }),
              HasSubstr("ends within the first epoch"));
  EXPECT_THAT(refused([](auto& c) { c.data += "/none"; }), HasSubstr("holds neither"));
}

}  // namespace
}  // namespace reverie
