#include <gtest/gtest.h>

#include <map>

#include "core/onnx/import.h"
#include "env/rewrite/search/search.h"
#include "tests/support/light_models.h"

namespace reverie {
namespace {

/// A rule's gains by one source and by another.
struct Signs {
  int agree = 0, differ = 0;
};

constexpr char kRecorded[] = "table:" REVERIE_SOURCE_DIR "/tests/golden/cpu_costs.h5";

/// Below this share of what the graph takes, a gain is noise.
constexpr double kClear = 0.0015;

/// Merged, the activation runs on what has left the cache; the estimate sees a kernel less.
constexpr char kException[] = "concat_of_relus";

/// At every location of every rule on greedy's path under the recorded costs.
void count_signs(const Graph& graph, const std::shared_ptr<const RuleSet>& rules,
                 std::map<std::string, Signs>& signs) {
  constexpr int kMostSteps = 40, kMostLocations = 8;
  RewriteState recorded(graph, rules, make_cost_model(kRecorded));
  RewriteState estimated(graph, rules, make_cost_model("roofline:cpu"));
  for (int step = 0; step < kMostSteps; ++step) {
    std::optional<RewriteStep> best;
    Picoseconds most{0};
    for (int rule = 0; rule < rules->size(); ++rule) {
      const int count = std::min(recorded.location_count(rule), kMostLocations);
      for (int location = 0; location < count; ++location) {
        const Cost measured = recorded.cost_delta(recorded.location(rule, location));
        if (measured.estimated != Picoseconds{0}) continue;  // not on record
        const Cost predicted = estimated.cost_delta(estimated.location(rule, location));
        if (measured.runtime < most) most = measured.runtime, best = RewriteStep{rule, location};
        if (std::abs(measured.runtime.seconds()) < kClear * recorded.cost().runtime.seconds())
          continue;
        Signs& counted = signs[rules->name(rule)];
        ++((measured.runtime < Picoseconds{0}) == (predicted.runtime < Picoseconds{0})
               ? counted.agree
               : counted.differ);
      }
    }
    if (!best) return;
    for (RewriteState* state : {&recorded, &estimated})
      state->commit(state->propose(state->location(best->rule, best->location)));
  }
}

TEST(GainSigns, AreThoseOfMeasurementsOnAProcessor) {
  const auto rules = std::make_shared<const RuleSet>(RuleSet::builtin());
  std::map<std::string, Signs> signs;
  for (const std::string& name : testing::light_models()) {
    const auto path = testing::exported_light_model(name);
    if (!std::filesystem::exists(path))
      GTEST_SKIP() << path << " is not there, on which costs were recorded";
    count_signs(import_onnx(path).graph, rules, signs);
  }
  int agree = 0, differ = 0;
  for (const auto& [rule, counted] : signs) {
    agree += counted.agree, differ += counted.differ;
    EXPECT_TRUE(rule == kException || counted.agree > counted.differ)
        << rule << ": " << counted.agree << " agree, " << counted.differ << " differ";
  }
  for (const char* rule : {"conv_merge_groups", "conv_merge", "matmul_merge", "conv_batchnorm"})
    EXPECT_GT(signs[rule].agree, 20 * signs[rule].differ) << rule;
  EXPECT_GT(agree, 1000) << "too little is on record to say anything";
  EXPECT_GT(agree, 19 * differ);
}

}  // namespace
}  // namespace reverie
