#include "core/ir/operator_column.h"

#include <gtest/gtest.h>

namespace reverie {
namespace {

TEST(OperatorColumn, KnowsWhatItHasAndNothingElse) {
  const OperatorColumn<int> column({{"Relu", 1}, {"Add", 2}});
  EXPECT_EQ(*column.find(op_named("Relu")), 1);
  EXPECT_EQ(*column.find(op_named("Add")), 2);
  EXPECT_EQ(column.find(op_named("Sub")), nullptr);
}

TEST(OperatorColumn, HasNoEntryBesideTheTableAndNoneTwice) {
  EXPECT_THROW(OperatorColumn<int>({{"NoSuchOperator", 1}}), InternalError);
  EXPECT_THROW(OperatorColumn<int>({{"Relu", 1}, {"Relu", 1}}), InternalError);
}

}  // namespace
}  // namespace reverie
