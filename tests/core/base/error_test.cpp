#include "core/base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reverie {
namespace {

using testing::HasSubstr;

template <typename Error, typename Body>
std::string message_of(Body body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Error, GainsContextOnItsWayUp) {
  const auto fail = [] { throw InputError("no field '{}'", "x"); };
  EXPECT_EQ(message_of<InputError>([&] { with_context("a.yaml", fail); }), "a.yaml: no field 'x'");
}

TEST(Error, GainsEachContextOnce) {
  const auto fail = [] { throw InputError("a.pt: cannot be read"); };
  const auto twice = [&] { with_context("a.pt", [&] { with_context("a.pt", fail); }); };
  EXPECT_EQ(message_of<InputError>(twice), "a.pt: cannot be read");
  EXPECT_EQ(message_of<InputError>([&] { with_context("a", fail); }), "a: a.pt: cannot be read");
}

TEST(Error, FailedCheckShowsBothOperands) {
  const std::string message = message_of<InternalError>([] { REVERIE_CHECK_EQ(1 + 1, 3); });
  EXPECT_THAT(message, HasSubstr("1 + 1 == 3"));
  EXPECT_THAT(message, HasSubstr("2 against 3"));
}

TEST(Error, PassingCheckEvaluatesOperandsOnce) {
  int calls = 0;
  REVERIE_CHECK_EQ(++calls, 1);
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace reverie
