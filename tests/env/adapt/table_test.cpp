#include "env/adapt/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/hash.h"
#include "env/adapt/table_json.h"
#include "tests/env/adapt/tables.h"
#include "tests/support/temporary_directory.h"

namespace reverie::testing {
namespace {

using ::testing::HasSubstr;

template <typename Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

std::string refusal(const AdaptTable& table) {
  return error_of([&] { table_source(table); });
}

const ChangeAtRate kDeepenFirst{ChangeKind::kDeepen, 0, 0.01};

TEST(AdaptTable, ReadsBackAsItWasWritten) {
  const TemporaryDirectory directory;
  const AdaptTable table = made_up_table({.rates = {0.001, 0.01}, .runs = 2});
  ASSERT_GT(table.sequences.size(), 50u);
  EXPECT_EQ(table.sequences[0].runs.size(), 2u);
  write_table(directory / "table.json", table);
  EXPECT_EQ(read_table(directory / "table.json"), table);
  const auto one = table_source(table), two = table_source(read_table(directory / "table.json"));
  EXPECT_EQ(one->fingerprint(), two->fingerprint());
  EXPECT_EQ(one->scenario(), "made-up");
  EXPECT_EQ(one->rates(), (std::vector<double>{0.001, 0.01}));
}

TEST(AdaptTable, JoinsTheRunsOfOthers) {
  const AdaptTable whole = made_up_table({.runs = 3});
  std::vector<AdaptTable> single(3, whole);
  for (size_t run = 0; run < 3; ++run)
    for (RecordedSequence& sequence : single[run].sequences) sequence.runs = {sequence.runs[run]};
  AdaptTable joined = single[0];
  joined.join(single[2]);
  joined.join(single[2]);  // whose seeds are there by now
  joined.join(single[1]);
  EXPECT_EQ(joined, whole);

  for (const auto& change : std::vector<std::function<void(AdaptTable&)>>{
           [](AdaptTable& other) { other.scenario = "elsewhere"; },
           [](AdaptTable& other) { other.rates = {0.5}; },
           [](AdaptTable& other) { other.budget = "an hour"; },
           [](AdaptTable& other) { other.start.spent += 0.1; }}) {
    AdaptTable other = single[1];
    change(other);
    EXPECT_THAT(error_of([&] { joined.join(other); }), HasSubstr("not the same network"));
  }
}

TEST(AdaptTable, FingerprintsTellTablesApart) {
  AdaptTable table = made_up_table({});
  const uint64_t before = table_source(table)->fingerprint();
  table.sequences.back().runs[0].curve.back().accuracy += 1e-6;
  EXPECT_NE(table_source(table)->fingerprint(), before);
}

TEST(AdaptTable, AJobGoesAsItWasRecorded) {
  const MadeUpTraining training{.rates = {0.001, 0.01}, .decisions = 3, .runs = 1};
  const auto source = table_source(made_up_table(training));
  for (const uint64_t choice : {0, 3, 7}) {
    const auto job = source->start(5);
    JobState expected = made_up_start(training);
    EXPECT_EQ(job->state(), expected);
    while (!expected.over) {
      const Decisions choices = made_up_choices(training, expected.network);
      const auto& decision = choices[(choice + expected.curve.size()) % choices.size()];
      expected = after_made_up(training, expected, 10, decision);
      job->decide(decision);
      EXPECT_EQ(job->state(), expected);
    }
  }
}

TEST(AdaptTable, ABudgetMayEndBeforeTheLastDecision) {
  const MadeUpTraining training{.decisions = 3, .cost = 1e-4};
  const AdaptTable table = made_up_table(training);
  EXPECT_EQ(table.decisions, 3);
  std::set<size_t> lengths;
  for (const RecordedSequence& sequence : table.sequences)
    lengths.insert(sequence.decisions.size());
  EXPECT_EQ(lengths, (std::set<size_t>{2, 3}));
  const auto source = table_source(table);
  for (const RecordedSequence& sequence : table.sequences) {
    const auto job = source->start(0);
    for (const auto& decision : sequence.decisions) {
      EXPECT_FALSE(job->state().over);
      job->decide(decision);
    }
    EXPECT_TRUE(job->state().over);
    EXPECT_EQ(job->state().spent, sequence.runs[0].stops.back().spent);
  }
}

TEST(AdaptTable, OnlyWhatWasRecordedIsOffered) {
  AdaptTable table = made_up_table({});
  std::erase_if(table.sequences, [](const RecordedSequence& sequence) {
    return sequence.decisions[0] == std::optional(kDeepenFirst);
  });
  const auto source = table_source(table);
  const auto job = source->start(0);
  EXPECT_FALSE(source->offers(job->state(), kDeepenFirst));
  EXPECT_TRUE(source->offers(job->state(), {ChangeKind::kDeepen, 2, 0.01}));
  EXPECT_FALSE(source->offers(job->state(), {ChangeKind::kDeepen, 2, 0.1}));
  const JobState before = job->state();
  EXPECT_EQ(error_of([&] { job->decide(kDeepenFirst); }),
            "scenario 'made-up': deepen was not recorded here; take what is offered");
  EXPECT_EQ(job->state(), before);
  job->decide(std::nullopt);
  EXPECT_TRUE(source->offers(job->state(), kDeepenFirst));
  job->decide(kDeepenFirst);
  EXPECT_TRUE(job->state().over);
  EXPECT_FALSE(source->offers(job->state(), kDeepenFirst));
  EXPECT_THROW(job->decide(std::nullopt), InputError);
}

TEST(AdaptTable, TheSeedPicksTheRun) {
  const auto source = table_source(made_up_table({.runs = 3}));
  std::set<double> ends;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto job = source->start(seed), same = source->start(seed);
    EXPECT_EQ(job->state(), source->start(0)->state());
    job->decide(kDeepenFirst);
    const std::vector<EpochRecord> curve = job->state().curve;
    job->decide(std::nullopt);
    EXPECT_TRUE(std::equal(curve.begin(), curve.end(), job->state().curve.begin()))
        << "of the same run";
    same->decide(kDeepenFirst);
    same->decide(std::nullopt);
    EXPECT_EQ(job->state(), same->state());
    ends.insert(job->state().curve.back().accuracy);
  }
  EXPECT_EQ(ends.size(), 3u);
}

TEST(AdaptTable, ForeseesWhatIsNotTrained) {
  const auto source = table_source(made_up_table({.rates = {0.001, 0.01}, .runs = 2}));
  ASSERT_TRUE(source->foresees());
  const auto real = source->start(3), foreseen = source->foresee();
  EXPECT_EQ(foreseen->state(), real->state()) << "what was before the first decision is known";
  const size_t epochs = real->state().curve.size();
  real->decide(kDeepenFirst);
  foreseen->decide(kDeepenFirst);
  JobState blank = real->state();
  for (size_t i = epochs; i < blank.curve.size(); ++i)
    blank.curve[i] = {.spent = blank.curve[i].spent};
  EXPECT_EQ(foreseen->state(), blank);
  EXPECT_NE(foreseen->state(), real->state());
}

TEST(AdaptTable, DoesNotForeseeWhatAClockDecides) {
  AdaptTable table = made_up_table({.runs = 2});
  for (const char* budget : {"400 s on one GPU", "300 s", "0.5 s"}) {
    table.budget = budget;
    EXPECT_FALSE(table_source(table)->foresees()) << budget;
    EXPECT_EQ(table_source(table)->foresee(), nullptr);
  }
  for (const char* budget : {"", "40", "40 epochs of the starting network", "40 s-units"}) {
    table.budget = budget;
    EXPECT_TRUE(table_source(table)->foresees()) << budget;
  }
  table.sequences.front().runs.back().stops.front().spent += 0.001;
  EXPECT_FALSE(table_source(table)->foresees()) << "runs of a sequence stop apart";
}

TEST(AdaptTable, ACopyGoesItsOwnWay) {
  const auto job = table_source(made_up_table({}))->start(1);
  const auto copy = job->copy();
  copy->decide(kDeepenFirst);
  EXPECT_TRUE(job->state().decisions.empty());
  job->decide(kDeepenFirst);
  EXPECT_EQ(job->state(), copy->state());
}

TEST(AdaptTable, WrongTablesAreRefused) {
  const AdaptTable good = made_up_table({});
  EXPECT_EQ(refusal(good), "");
  AdaptTable table = good;
  table.rates = {0.01, 0.01};
  EXPECT_EQ(refusal(table), "'rates' must be one or more numbers above 0, ascending");
  table = good;
  table.sequences.erase(table.sequences.begin());
  EXPECT_EQ(
      refusal(table),
      "sequence 1: a sequence that begins with its first 0 decisions and then goes on without a "
      "change is missing; record it, too");
  table = good;
  table.sequences.push_back(table.sequences[1]);
  EXPECT_THAT(refusal(table), HasSubstr("it was recorded before"));
  table = good;
  table.sequences[1].decisions.push_back(std::nullopt);
  EXPECT_EQ(refusal(table), "sequence 2: it has 3 decisions; a sequence of this table has 1 to 2");
  table = good;
  table.sequences[1].decisions.pop_back();
  EXPECT_EQ(refusal(table),
            "sequence 2: seed 10: it has 2 stops; a run has one after each of its 1 decisions");
  table.sequences[1].runs[0].stops.erase(table.sequences[1].runs[0].stops.begin());
  EXPECT_EQ(refusal(table), "sequence 1: it goes on after decision 1, where another ends");
  table = good;
  table.sequences[1].runs.clear();
  EXPECT_EQ(refusal(table), "sequence 2: it has no runs; give at least one");
  table = good;
  table.sequences[1].runs[0].stops[0].epochs = 100;
  EXPECT_EQ(refusal(table), "sequence 2: seed 10: a stop comes before the one that precedes it");
  table = good;
  table.sequences[1].runs[0].curve.pop_back();
  EXPECT_EQ(refusal(table),
            "sequence 2: seed 10: its last stop is after 6 epochs, its curve has 5");
  table = good;
  table.sequences[1].runs[0].curve[0].accuracy = 45;
  EXPECT_EQ(refusal(table),
            "sequence 2: seed 10: an epoch's accuracy is 45; it must be from 0 to 1");
  table = good;
  table.sequences[1].decisions[1] = ChangeAtRate{ChangeKind::kWiden, 4, 0.01};
  EXPECT_EQ(refusal(table), "sequence 2: block 'output' cannot be changed by 'widen'");
  table.sequences.clear();
  EXPECT_EQ(refusal(table), "'sequences' is empty; give at least that without changes");
}

TEST(AdaptTable, WrongFilesAreRefusedByName) {
  const TemporaryDirectory directory;
  const std::string path = directory / "table.json";
  const auto reading = [&](const std::string& text) {
    write_file(path, text);
    std::string error = error_of([&] { read_table(path); });
    EXPECT_EQ(error.rfind(path + ": ", 0), 0u) << error;
    EXPECT_EQ(error.find('\n'), std::string::npos);
    return error;
  };
  reading("{");
  EXPECT_THAT(reading("{\"format\": \"x\"}"),
              HasSubstr("its format is 'x'; known are reverie-adapt/1 and adapt-table/1"));
  Json json = table_to_json(made_up_table({}));
  json["network"] = "image: 3";
  EXPECT_THAT(reading(json.dump()), HasSubstr("network: "));
  json = table_to_json(made_up_table({}));
  json["start"] = Json::Array{0, 1};
  EXPECT_THAT(reading(json.dump()), HasSubstr("start: a stop has 2 numbers; it needs 4"));
  json = table_to_json(made_up_table({}));
  json["sequences"] = Json::Array{
      {{"decisions", Json::Array{{{"widen", "third"}, {"rate", 0.1}}}}, {"runs", Json::Array{}}}};
  EXPECT_THAT(reading(json.dump()),
              HasSubstr("sequence 1: a decision changes 'third', which is no block of the first "
                        "network"));
}

TEST(AdaptTable, JobsOfATableBeginInTheSameState) {
  AdaptTable table = made_up_table({});
  const MadeUpTraining other{.network = residual_network()};
  const std::vector<JobState> states = {
      made_up_start(other), after_made_up(other, made_up_start(other), 1, std::nullopt)};
  EXPECT_EQ(error_of([&] { table.add(1, states); }),
            "scenario 'made-up': a job with seed 1 begins in another state than those before");
}

}  // namespace
}  // namespace reverie::testing
