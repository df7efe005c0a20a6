#include "tools/measured.h"

#include <fmt/format.h>

#include <filesystem>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/words.h"
#include "core/cost/measured.h"
#include "tools/units.h"

namespace reverie {
namespace {

double gain_percent(double ratio) { return 100 * (1 - ratio); }

/// A point for each measurement, times relative to the original's first.
Json trace_of(const MeasuredReport& report) {
  const double original = report.trace.front().measured;
  Json::Array trace;
  for (size_t i = 0; i < report.trace.size(); ++i)
    trace.push_back({{"end_to_end_measurements", i + 1},
                     {"seconds", report.trace[i].seconds},
                     {"measured_ratio", report.trace[i].measured / original},
                     {"found_gain_percent", gain_percent(report.trace[i].best / original)}});
  return trace;
}

/// Of the best graph, from a benchmark after the search.
void add_endpoint(const Optimized& result, Json& json) {
  const auto& contestants = result.benchmark.contestants;
  if (contestants.empty()) return;
  const ContestantResult& best = contestants.size() > 1 ? contestants[1] : contestants[0];
  if (!best.finalist) return;
  json["endpoint_gain_percent"] = gain_percent(best.ratio.median);
  json["endpoint_ratio"] = best.ratio.median;
  json["endpoint_low"] = best.ratio.low;
  json["endpoint_high"] = best.ratio.high;
  json["endpoint_n"] = best.ratio.samples;
  json["endpoint_ms"] = best.median / kMillisecond;
  json["endpoint_original_ms"] = contestants[0].median / kMillisecond;
}

}  // namespace

void write_fitted_costs(const std::string& file, const std::string& model, const Optimized& result,
                        const OptimizeConfig& config, std::shared_ptr<CostModel> prior) {
  REVERIE_CHECK(result.search.measured.has_value());
  const MeasuredReport& report = *result.search.measured;
  CostFit fit = fitted_cost(std::move(prior), report.timed)->fit();
  const MachineInfo machine = machine_beside(config.machine, config.cost)->info();
  fit.device = machine.device;
  fit.library = machine.library;
  fit.model = std::filesystem::path(model).stem().string();
  fit.measurements = std::ssize(report.trace);
  write_cost_fit(file, fit);
}

std::function<void(const MeasuredReport&)> measured_reporter(Progress& progress) {
  return [&progress](const MeasuredReport& report) {
    progress.update(
        static_cast<int64_t>(report.trace.size()),
        fmt::format("best {:.4f} ms, measured {:.4f} ms", report.trace.back().best / kMillisecond,
                    report.trace.back().measured / kMillisecond));
  };
}

std::vector<std::string> measured_sentences(const Optimized& result) {
  if (!result.search.measured) return {};
  const MeasuredReport& report = *result.search.measured;
  return {fmt::format(
      "measured end to end {}, {}: {:.4f} ms, at first {:.4f} ms; picked for being "
      "the fastest, it looks faster than it is (--confirm measures it afresh)",
      counted(report.trace.size(), "time"), counted(report.graphs, "graph"),
      report.trace.back().best / kMillisecond, report.trace.front().measured / kMillisecond)};
}

void add_measured(const Optimized& result, const OptimizeConfig& config, Json& json) {
  if (!result.search.measured) return;
  const MeasuredReport& report = *result.search.measured;
  const double original = report.trace.front().measured;
  json["budget"] = config.measured.budget;
  json["end_to_end_measurements"] = report.trace.size();
  json["graphs_measured"] = report.graphs;
  json["operators"] = result.operators;
  json["original_ms"] = original / kMillisecond;
  json["found_ms"] = report.trace.back().best / kMillisecond;
  json["found_gain_percent"] = gain_percent(report.trace.back().best / original);
  if (report.scale > 0) {
    json["inner"] = config.measured.inner;
    json["fitted_scale"] = report.scale;
    json["fitted_deviation"] = report.deviation;
    json["fitted_mismatch"] = report.mismatch;
  }
  json["trace"] = trace_of(report);
  add_endpoint(result, json);
}

}  // namespace reverie
