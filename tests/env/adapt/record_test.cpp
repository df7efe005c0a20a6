#include "env/adapt/record.h"

#include <gtest/gtest.h>

#include "tests/env/adapt/tables.h"

namespace reverie {
namespace {

/// What a table holds is found again, in whatever order it is walked through.
TEST(Record, ATableIsRecordedAsItIs) {
  const testing::MadeUpTraining training{.rates = {0.001, 0.01}};
  const AdaptTable table = testing::made_up_table(training);
  const auto source = table_source(table);
  AdaptTable again;
  again.scenario = table.scenario;
  again.budget = table.budget;
  again.rates = table.rates;
  again.final_epochs = table.final_epochs;
  int64_t told = 0;
  record_sequences(*source, 10, again, [&](int64_t done) { told = done; });
  EXPECT_EQ(told, std::ssize(table.sequences));
  EXPECT_EQ(count_sequences(*source, source->start(10)->state()), told);
  EXPECT_EQ(again, table);
}

TEST(Record, WhatStopsItLeavesWholeSequences) {
  const auto source = table_source(testing::made_up_table({}));
  AdaptTable table;
  EXPECT_THROW(record_sequences(*source, 1, table,
                                [](int64_t done) {
                                  if (done == 3) throw std::runtime_error("enough");
                                }),
               std::runtime_error);
  EXPECT_EQ(table.sequences.size(), 3u);
}

}  // namespace
}  // namespace reverie
