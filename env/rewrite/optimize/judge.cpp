#include "env/rewrite/optimize/judge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "core/base/error.h"
#include "core/base/stopwatch.h"
#include "core/ir/structural_hash.h"
#include "env/rewrite/optimize/file_cost.h"

namespace reverie {
namespace {

/// Of the time that is left, for other extents; the rest is for those that are bound.
constexpr double kShareOfExtents = 0.5;

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

Judge::Judge(const Subject& subject, const OptimizeConfig& config)
    : subject_(subject),
      config_(config),
      watches_symbols_(!config.fix_shapes && subject.model != nullptr &&
                       !symbols_of(*subject.model).empty()) {}

std::string Judge::objection_to_file(int contestant) {
  const double error = contestants_->difference(contestant);
  if (!(error <= runtime_tolerance(subject_.graph))) return differs_in_runtime(error);
  return objection_to_extents(verdict_on(subject_.graph));
}

double Judge::seconds_left() const {
  const double limit = kShare * config_.search.time_limit;
  return limit > 0 ? std::max(limit - spent_, 1e-9) : 0;
}

Judge::Verdict& Judge::verdict_on(const Graph& graph) {
  for (Verdict& known : verdicts_)
    if (isomorphic(known.graph, graph)) return known;
  const Stopwatch watch;
  Verdict verdict{graph, {}, {}, {}};
  verdict.agreement.agree = same_in_a_file(subject_.graph, graph);
  if (!verdict.agreement.agree) judge(verdict);
  spent_ += watch.seconds();
  verdicts_.push_back(std::move(verdict));
  return verdicts_.back();
}

void Judge::judge(Verdict& verdict) const {
  verdict.objection = objection_in_runtime(verdict.graph);
  if (verdict.objection.empty()) verdict.objection = objection_to_extents(verdict);
  if (!verdict.objection.empty() || config_.verify.inputs == 0) return;
  CompareOptions options = config_.verify;
  options.seconds = seconds_left();
  verdict.agreement = compare(subject_.graph, verdict.graph, options);
  if (!verdict.agreement.agree) verdict.objection = verdict.agreement.reason;
  if (verdict.tried && !verdict.tried->left_out.empty())
    verdict.agreement.left_out.push_back(verdict.tried->left_out);
}

std::string Judge::objection_to_extents(Verdict& verdict) const {
  if (!watches_symbols_) return {};
  CompareOptions options = config_.verify;
  options.inputs = 1;
  options.seconds = kShareOfExtents * seconds_left();
  verdict.tried = try_symbols(subject_.file, *subject_.model, verdict.graph, options);
  const std::set<std::string>& lost = verdict.tried->lost;
  if (lost.empty()) return {};
  const auto depends_on_data = [&](const std::string& symbol) {
    return subject_.model->info.data_extents.contains(symbol);
  };
  if (const auto data = std::ranges::find_if(lost, depends_on_data); data != lost.end())
    return fmt::format("it fixes extent '{}', which depends on data", *data);
  const char* const why = lost == verdict.tried->untried
                              ? ", and the model runs with no other extent that was tried"
                              : "";
  return fmt::format("it fixes dimension '{}'{} (--fix-shapes allows that)",
                     fmt::join(lost, "', '"), why);
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
