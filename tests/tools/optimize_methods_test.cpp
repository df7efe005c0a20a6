#include <fmt/format.h>
#include <gmock/gmock.h>

#include <array>
#include <cstdio>

#include "env/solver.h"

namespace reverie {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

/// What `reverie optimize --help` says, each blank and line break one blank.
std::string help() {
  std::FILE* pipe = popen(REVERIE_PROGRAM " optimize --help", "r");
  std::string text;
  std::array<char, 4096> piece;
  while (const size_t count = std::fread(piece.data(), 1, piece.size(), pipe))
    text.append(piece.data(), count);
  EXPECT_EQ(pclose(pipe), 0);
  std::string words;
  for (const char c : text)
    if (const bool blank = c == ' ' || c == '\n'; !blank)
      words += c;
    else if (!words.ends_with(' '))
      words += ' ';
  return words;
}

TEST(OptimizeHelp, ListsEveryMethodAndSaysWhatItsBudgetCounts) {
  const std::string text = help();
  for (const Solver* solver : solvers_for("rewrite")) {
    EXPECT_THAT(text, HasSubstr(fmt::format(" {} {} ", solver->name(), solver->what())));
    if (!solver->budget_unit().empty()) {
      EXPECT_THAT(text,
                  ContainsRegex(solver->budget_unit() + " \\([a-z_, ]*" + solver->name() + "[,)]"));
    }
  }
}

}  // namespace
}  // namespace reverie
