#include "env/rewrite/optimize/confirm.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <utility>

#include "core/base/error.h"
#include "core/base/scratch_folder.h"
#include "core/exec/compare.h"
#include "core/ir/structural_hash.h"
#include "core/onnx/export.h"
#include "core/onnx/symbols.h"
#include "env/rewrite/optimize/compare_files.h"
#include "env/rewrite/search/rewrite_problem.h"

namespace reverie {
namespace {

class MachineRound : public BenchmarkRound {
 public:
  MachineRound(std::span<const int> contestants, Contestants& all) {
    for (const int contestant : contestants) ready_[contestant] = all.ready(contestant);
  }

  double run(int contestant) override { return ready_.at(contestant)->seconds_of_run(); }
  int fallbacks(int contestant) const override { return ready_.at(contestant)->fallbacks(); }

 private:
  std::map<int, std::unique_ptr<ReadyGraph>> ready_;
};

bool is_new(const std::vector<Contender>& known, const Graph& graph) {
  return std::none_of(known.begin(), known.end(), [&](const Contender& contender) {
    return isomorphic(contender.graph, graph);
  });
}

/// The improvement whose cost is closest to `cost`.
const Improvement& closest(const std::vector<Improvement>& improvements, double cost) {
  const auto distance = [&](const Improvement& improvement) {
    return std::abs(static_cast<double>(improvement.runtime.count) - cost);
  };
  return *std::min_element(improvements.begin(), improvements.end(),
                           [&](const auto& a, const auto& b) { return distance(a) < distance(b); });
}

}  // namespace

std::vector<Contender> contenders_of(const RewriteState& start, const SearchResult& result,
                                     int count) {
  std::vector<Contender> contenders;
  if (count < 1 || isomorphic(result.best, start.graph())) return contenders;
  contenders.push_back({result.best, result.best_cost, result.rewrites});
  const auto before = static_cast<double>(result.initial_cost.runtime.count);
  const auto after = static_cast<double>(result.best_cost.runtime.count);
  for (int i = 1; i < count && !result.improvements.empty(); ++i) {
    const double share = static_cast<double>(i) / count;
    const Improvement& found = closest(result.improvements, after + share * (before - after));
    const RewriteState state =
        found.graph ? RewriteState(*found.graph, start.shared_rules(), start.shared_cost_model())
                    : replay(start, steps_of(found.path));
    if (is_new(contenders, state.graph()))
      contenders.push_back({state.graph(), state.cost(), steps_of(found.path)});
  }
  return contenders;
}

/// Where contenders are written to, as contender 1 to `1.onnx` and so on.
class Contestants::Files {
 public:
  explicit Files(const Subject& subject) : model_(*subject.model) {}

  std::filesystem::path of(size_t contender) const {
    return folder_.path() / fmt::format("{}.onnx", contender + 1);
  }
  void write(const Contender& contender, size_t number) const {
    if (contender.constant_shapes)
      export_onnx(contender.graph, model_.info, of(number));
    else
      export_untried(model_, contender.graph, of(number));
  }
  std::filesystem::path trial_of(const Graph& graph) const {
    const std::filesystem::path path = folder_.path() / "trial.onnx";
    export_untried(model_, graph, path);
    return path;
  }

 private:
  const ImportedModel& model_;
  ScratchFolder folder_;
};

Contestants::Contestants(const Subject& subject, std::vector<Contender>& contenders,
                         Machine& machine)
    : subject_(subject), contenders_(contenders), machine_(machine) {
  if (!machine.runs_files() || subject.model == nullptr) return;
  files_ = std::make_unique<Files>(subject);
  std::vector<Contender> written;
  for (Contender& contender : contenders) try {
      files_->write(contender, written.size());
      written.push_back(std::move(contender));
    } catch (const InputError&) {
      continue;
    }
  contenders = std::move(written);
}

Contestants::~Contestants() = default;

std::unique_ptr<ReadyGraph> Contestants::ready(int contestant) {
  const auto contender = static_cast<size_t>(contestant - 1);
  if (files_ != nullptr)
    return machine_.ready_file(contestant == 0 ? subject_.file : files_->of(contender),
                               subject_.graph);
  const Graph& graph = contestant == 0 ? subject_.graph : contenders_[contender].graph;
  return machine_.ready(graph.sample(0));
}

int Contestants::together() const {
  constexpr int64_t kWeights = 1 << 30;  // bytes
  const int64_t each = std::max<int64_t>(subject_.graph.weight_bytes(), 1);
  return static_cast<int>(std::clamp<int64_t>(kWeights / each - 1, 1, 1 << 10));
}

void Contestants::renew(int contestant) {
  const auto contender = static_cast<size_t>(contestant - 1);
  if (files_ != nullptr) files_->write(contenders_[contender], contender);
}

double Contestants::difference(int contestant) {
  return files_ == nullptr ? 0
                           : difference_of_file(files_->of(static_cast<size_t>(contestant - 1)));
}

double Contestants::difference(const Graph& graph) {
  return files_ == nullptr ? 0 : difference_of_file(files_->trial_of(graph));
}

double Contestants::difference_of_file(const std::filesystem::path& file) {
  if (original_outputs_.empty())
    original_outputs_ = machine_.outputs_of_file(subject_.file, subject_.graph);
  return worst_error(original_outputs_, machine_.outputs_of_file(file, subject_.graph));
}

void Contestants::tell_rounding(std::vector<ContestantResult>& results) {
  if (!machine_.tells_rounding()) return;
  const Graph original = subject_.graph.sample(0);
  std::vector<Graph> graphs;
  std::vector<ContestantResult*> asked;
  for (size_t i = 0; i < results.size(); ++i) {
    if (i > 0 && !results[i].finalist) continue;
    graphs.push_back(i == 0 ? original : contenders_[i - 1].graph.sample(0));
    asked.push_back(&results[i]);
  }
  const auto run = [&](const Graph& graph, std::span<const Tensor> inputs,
                       const WeightSource& weights) {
    return machine_.ready(graph, weights)->run(inputs);
  };
  const std::vector<double> errors = rounding_errors(run, original, graphs);
  for (size_t i = 0; i < asked.size(); ++i) asked[i]->error = errors[i];
}

BenchmarkResult confirm_end_to_end(Contestants& contestants, int contenders,
                                   const BenchmarkOptions& options) {
  const NewRound new_round = [&](std::span<const int> round) {
    return std::make_unique<MachineRound>(round, contestants);
  };
  BenchmarkOptions bounded = options;
  bounded.together = contestants.together();
  BenchmarkResult result = run_paired_benchmark(contenders + 1, new_round, bounded);
  contestants.tell_rounding(result.contestants);
  return result;
}

void take_winner(const Graph& original, const std::vector<Contender>& contenders, int winner,
                 SearchResult& result) {
  if (winner > 0) {
    const Contender& contender = contenders[static_cast<size_t>(winner - 1)];
    result.best = contender.graph;
    result.best_cost = contender.cost;
    result.rewrites = contender.rewrites;
  } else {
    result.best = original;
    result.best_cost = result.initial_cost;
    result.rewrites.clear();
    if (!result.trace.empty()) result.trace.erase(result.trace.begin() + 1, result.trace.end());
  }
  if (!contenders.empty()) result.optimal &= winner == 1;
}

}  // namespace reverie
