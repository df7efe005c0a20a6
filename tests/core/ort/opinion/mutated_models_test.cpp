#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <optional>

#include "core/base/error.h"
#include "core/exec/reference/reference.h"
#include "core/onnx/symbols.h"
#include "core/rules/no_cost.h"
#include "tests/core/onnx/onnx_files.h"
#include "tests/core/ort/opinion/mutate.h"
#include "tests/core/ort/opinion/second_opinion.h"
#include "tests/support/onnx_cases.h"
#include "tests/support/random_graph.h"
#include "tests/support/rewrite_checks.h"

namespace reverie::testing {
namespace {

int from_environment(const char* name, int otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::atoi(value);
}

/// Models that were changed at random run in the runtime, are rewritten by random rules and run
/// again. REVERIE_MUTANTS: how many (10000 take some ten minutes); REVERIE_FIRST_MUTANT: the seed
/// of the first.
class MutatedModels : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!ort::is_installed()) GTEST_SKIP() << "ONNX Runtime is not installed";
    cases_ = case_folders("node");
  }

  onnx::ModelProto model_of(uint64_t seed, Rng& rng) {
    if (!cases_.empty() && rng.below(2) == 0) {
      Case one(cases_[rng.below(cases_.size())]);
      if (has_only_tensors(one)) {
        bake_shaping_inputs(&one);
        return one.model;
      }
    }
    const Graph graph = random_graph(seed, static_cast<int>(3 + rng.below(10)));
    export_onnx(graph, {}, folder_ / "random.onnx");
    return read_message<onnx::ModelProto>(folder_ / "random.onnx");
  }

  Graph rewritten(const Graph& graph, Rng& rng) {
    constexpr int kSteps = 8;
    RewriteState state(graph, rules_, std::make_shared<NoCost>());
    for (int i = 0; i < kSteps; ++i) {
      const Match match = random_match(state, rng);
      if (match.slot < 0) break;
      const Rewrite rewrite = state.propose(match);
      state.commit(rewrite);
      steps_ += rules_->name(match.rule) + " ";
    }
    return state.graph();
  }

  static std::string text_of(const onnx::GraphProto& graph) {
    std::string text;
    for (const auto& node : graph.node())
      text += fmt::format("{} = {}({}) ", fmt::join(node.output(), ","), node.op_type(),
                          fmt::join(node.input(), ","));
    return text;
  }

  std::optional<std::vector<NamedTensor>> run(const std::filesystem::path& file,
                                              const std::vector<NamedTensor>& inputs,
                                              std::string* refusal) {
    try {
      return runtime_.outputs(file, inputs);
    } catch (const InputError& error) {
      *refusal = error.what();
      return std::nullopt;
    }
  }

  /// What is wrong with a mutant; empty where nothing is, or where it could not be judged.
  std::string judge(uint64_t seed) {
    Rng rng(seed);
    onnx::ModelProto mutant = model_of(seed, rng);
    forget_types(mutant.mutable_graph());
    for (uint64_t i = 0, count = 1 + rng.below(4); i < count; ++i)
      mutate(mutant.mutable_graph(), rng);
    const std::filesystem::path file = folder_ / "mutant.onnx", better = folder_ / "better.onnx";
    write_message(mutant, file);
    nodes_ = text_of(mutant.graph());
    steps_.clear();
    const ImportedModel model = import_onnx(file);
    const std::vector<NamedTensor> inputs = ort::random_inputs(model.graph, seed);
    std::string refusal;
    const auto expected = run(file, inputs, &refusal);
    if (!expected || !is_tame(*expected) || !is_sure_of(file, inputs, *expected)) return "";
    const Graph graph = rewritten(model.graph, rng);
    export_with_symbols(file, model, graph, better);
    ++judged_;
    const auto found = run(better, known_to(graph, inputs), &refusal);
    return found ? first_difference(*expected, *found) : "refused: " + refusal;
  }

  std::string said_of(int seed) const {
    return fmt::format("mutant {}: {}\nrewritten by {}", seed, nodes_, steps_);
  }

  static std::vector<NamedTensor> known_to(const Graph& graph, std::vector<NamedTensor> inputs) {
    std::erase_if(inputs, [&](const NamedTensor& input) {
      return std::ranges::none_of(
          graph.inputs(), [&](NodeId node) { return graph.input_name(node) == input.name; });
    });
    return inputs;
  }

  /// Whether the runtime's optimizer finds the same: a run may draw numbers, or read memory that
  /// nobody wrote.
  bool is_sure_of(const std::filesystem::path& file, const std::vector<NamedTensor>& inputs,
                  const std::vector<NamedTensor>& outputs) {
    if (reads_unwritten_memory()) return false;
    try {
      return first_difference(outputs, optimizing_.outputs(file, inputs)).empty();
    } catch (const InputError&) {
      return false;
    }
  }

  /// The runtime does where the lengths that it is given are too long, or negative.
  bool reads_unwritten_memory() const { return nodes_.find("ReverseSequence") != nodes_.npos; }

  /// Finite and of moderate size, so that other roundings make no other numbers.
  static bool is_tame(const std::vector<NamedTensor>& outputs) {
    return std::ranges::all_of(outputs, [](const NamedTensor& output) {
      return std::ranges::all_of(output.tensor.to_doubles(),
                                 [](double value) { return std::abs(value) < 1e6; });
    });
  }

  static std::string first_difference(const std::vector<NamedTensor>& expected,
                                      const std::vector<NamedTensor>& found) {
    for (const NamedTensor& output : expected) {
      const auto other = std::ranges::find(found, output.name, &NamedTensor::name);
      if (other == found.end()) return output.name + " is missing";
      if (std::string why = difference(output.tensor, other->tensor); !why.empty())
        return fmt::format("{}: {}", output.name, why);
    }
    return "";
  }

  TemporaryDirectory folder_;
  ort::OrtMachine runtime_{{.threads = 1, .optimize = false}};
  ort::OrtMachine optimizing_{{.threads = 1, .optimize = true}};
  std::shared_ptr<const RuleSet> rules_ = std::make_shared<const RuleSet>(RuleSet::builtin());
  std::vector<std::filesystem::path> cases_;
  std::string nodes_, steps_;  // of the mutant, and the rules that were taken
  int judged_ = 0;
};

TEST_F(MutatedModels, ComputeTheSameAfterRewriting) {
  const int count = from_environment("REVERIE_MUTANTS", 200);
  const int first = from_environment("REVERIE_FIRST_MUTANT", 1);
  int refused = 0;
  for (int seed = first; seed < first + count; ++seed) {
    try {
      EXPECT_EQ(judge(static_cast<uint64_t>(seed)), "") << said_of(seed);
    } catch (const InputError&) {
      ++refused;
    } catch (const std::exception& error) {
      ADD_FAILURE() << said_of(seed) << ": " << error.what();
    }
  }
  std::cout << count << " mutants, " << judged_ << " rewritten and compared, " << refused
            << " refused by this program\n";
  EXPECT_GE(judged_, count / 10);
}

}  // namespace
}  // namespace reverie::testing
