#include "core/search/judge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "core/base/error.h"
#include "core/base/scratch_folder.h"
#include "core/base/stopwatch.h"
#include "core/ir/structural_hash.h"
#include "core/onnx/symbols.h"
#include "core/search/file_cost.h"

namespace reverie {
namespace {

/// On outputs in the runtime, which computes in the declared types.
double runtime_tolerance(const Graph& graph) {
  constexpr double kSingle = 1e-4, kHalf = 1e-2;
  const auto is_half = [&](NodeId node) {
    return std::ranges::any_of(output_types(graph, node), [](const TensorType& type) {
      return type.dtype == DType::kFloat16 || type.dtype == DType::kBFloat16;
    });
  };
  const std::vector<NodeId> nodes = graph.nodes();
  return std::ranges::any_of(nodes, is_half) ? kHalf : kSingle;
}

std::string differs_in_runtime(double error) {
  return fmt::format("in the runtime its outputs differ by {:.2g} of the largest element", error);
}

}  // namespace

std::string Judge::objection_to_file(int contestant) const {
  const double error = contestants_->difference(contestant);
  if (!(error <= runtime_tolerance(subject_.graph))) return differs_in_runtime(error);
  if (config_.fix_shapes) return {};
  const ScratchFolder scratch;
  const std::set<std::string> lost = lost_symbols(subject_.file, *subject_.model, subject_.graph,
                                                  scratch.path() / "trial.onnx", config_.verify);
  return lost.empty() ? "" : fmt::format("its file fixes dimension '{}'", fmt::join(lost, "', '"));
}

double Judge::seconds_left() const {
  const double limit = kShare * config_.search.time_limit;
  return limit > 0 ? std::max(limit - spent_, 1e-9) : 0;
}

const Judge::Verdict& Judge::verdict_on(const Graph& graph) {
  for (const Verdict& known : verdicts_)
    if (isomorphic(known.graph, graph)) return known;
  const Stopwatch watch;
  Verdict verdict{graph, {}, {}};
  verdict.agreement.agree = same_in_a_file(subject_.graph, graph);
  if (!verdict.agreement.agree) judge(verdict);
  spent_ += watch.seconds();
  verdicts_.push_back(std::move(verdict));
  return verdicts_.back();
}

void Judge::judge(Verdict& verdict) const {
  verdict.objection = objection_in_runtime(verdict.graph);
  if (verdict.objection.empty()) verdict.objection = of_symbols_(verdict.graph);
  if (!verdict.objection.empty() || config_.verify.inputs == 0) return;
  CompareOptions options = config_.verify;
  options.seconds = seconds_left();
  verdict.agreement = compare(subject_.graph, verdict.graph, options);
  if (!verdict.agreement.agree) verdict.objection = verdict.agreement.reason;
}

std::string Judge::objection_in_runtime(const Graph& graph) const {
  if (contestants_ == nullptr) return {};
  try {
    const double error = contestants_->difference(graph);
    return error <= runtime_tolerance(graph) ? "" : differs_in_runtime(error);
  } catch (const InputError& error) {  // it refuses the file
    return error.what();
  }
}

}  // namespace reverie
