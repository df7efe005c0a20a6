#include "core/search/confirm.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <utility>

#include "core/base/error.h"
#include "core/base/scratch_folder.h"
#include "core/ir/structural_hash.h"
#include "core/onnx/export.h"
#include "core/onnx/symbols.h"
#include "core/search/compare_files.h"

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
  return *std::min_element(
      improvements.begin(), improvements.end(),
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
    const RewriteState state = found.graph ? RewriteState(*found.graph, start.shared_rules(),
                                                          start.shared_cost_model())
                                           : replay(start, found.rewrites);
    if (is_new(contenders, state.graph()))
      contenders.push_back({state.graph(), state.cost(), found.rewrites});
  }
  return contenders;
}

/// Where contenders are written to, as contender 1 to `1.onnx` and so on.
class Contestants::Files {
 public:
  std::filesystem::path of(size_t contender) const {
    return folder_.path() / fmt::format("{}.onnx", contender + 1);
  }

 private:
  ScratchFolder folder_;
};

Contestants::Contestants(const Subject& subject, std::vector<Contender>& contenders, Machine& machine)
    : subject_(subject), contenders_(contenders), machine_(machine) {
  if (!machine.runs_files() || subject.model == nullptr) return;
  files_ = std::make_unique<Files>();
  std::vector<Contender> written;
  for (Contender& contender : contenders) try {
      export_untried(*subject.model, contender.graph, files_->of(written.size()));
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
    return machine_.ready_file(contestant == 0 ? subject_.file : files_->of(contender), subject_.graph);
  return machine_.ready(contestant == 0 ? subject_.graph : contenders_[contender].graph);
}

double Contestants::difference(int contestant) {
  if (files_ == nullptr) return 0;
  const auto contender = static_cast<size_t>(contestant - 1);
  return worst_error(machine_.outputs_of_file(subject_.file, subject_.graph),
                     machine_.outputs_of_file(files_->of(contender), subject_.graph));
}

BenchmarkResult confirm_end_to_end(Contestants& contestants, int contenders, const BenchmarkOptions& options) {
  const NewRound new_round = [&](std::span<const int> round) {
    return std::make_unique<MachineRound>(round, contestants);
  };
  return run_paired_benchmark(contenders + 1, new_round, options);
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
