#include "tools/contenders.h"

#include <fmt/format.h>

#include "core/base/json.h"
#include "core/ir/structural_hash.h"
#include "core/onnx/symbols.h"

namespace reverie {

namespace {

constexpr double kMillisecond = 1e-3;

const Cost& cost_of(const Optimized& result, size_t contestant) {
  return contestant == 0 ? result.search.initial_cost : result.contenders[contestant - 1].cost;
}

Json to_json(const ContestantResult& timed, const Cost& cost) {
  Json json = {{"cost_ms", cost.runtime.milliseconds()},
               {"median_ms", timed.median / kMillisecond},
               {"ratio", timed.ratio.median},
               {"rounds", timed.ratio.samples},
               {"finalist", timed.finalist}};
  if (timed.finalist) {
    json["ratio_low"] = timed.ratio.low;
    json["ratio_high"] = timed.ratio.high;
  }
  return json;
}

}  // namespace

void print_benchmark(const Optimized& result) {
  if (result.benchmark.contestants.empty()) return;
  fmt::print("\nend to end on {} ({}):\n{:<12} {:>14} {:>14} {:>10} {:>18}\n", result.machine.device,
             result.machine.library, "", "sum of costs", "median", "ratio", "95% interval");
  for (size_t i = 0; i < result.benchmark.contestants.size(); ++i) {
    const ContestantResult& timed = result.benchmark.contestants[i];
    fmt::print("{:<12} {:>11.4f} ms {:>11.4f} ms {:>10.4f} {:>18}{}{}\n",
               i == 0 ? "original" : fmt::format("contender {}", i),
               cost_of(result, i).runtime.milliseconds(), timed.median / kMillisecond,
               timed.ratio.median,
               timed.finalist ? fmt::format("{:.4f} to {:.4f}", timed.ratio.low, timed.ratio.high)
               : timed.median > 0 ? "screened out"
                                  : "not measured",
               static_cast<int>(i) == result.benchmark.winner ? "  kept" : "",
               i == 0 || result.contenders[i - 1].rules.empty()
                   ? ""
                   : fmt::format("  ({})", result.contenders[i - 1].rules));
  }
  if (result.benchmark.fallbacks > 0)
    fmt::print("{} nodes ran on the reference kernels; beside a device that counts with all transfers\n",
               result.benchmark.fallbacks);
}

Json to_json(const Optimized& result) {
  Json::Array contestants;
  for (size_t i = 0; i < result.benchmark.contestants.size(); ++i)
    contestants.push_back(to_json(result.benchmark.contestants[i], cost_of(result, i)));
  return {{"device", result.machine.device},
          {"library", result.machine.library},
          {"promised_cost_ms", result.promised.runtime.milliseconds()},
          {"fallbacks", result.benchmark.fallbacks},
          {"winner", result.benchmark.winner},
          {"contestants", contestants}};
}

Json write_contenders(const std::filesystem::path& folder, const std::filesystem::path& original,
                      const ImportedModel& model, const Optimized& result, const OptimizeConfig& config) {
  Json::Array written;
  for (size_t i = 0; i < result.contenders.size(); ++i) {
    const Contender& contender = result.contenders[i];
    const bool is_best = isomorphic(contender.graph, result.search.best);
    const bool agrees = contender.simplified ||
                        (is_best ? result.verified.agree
                                 : compare(model.graph, contender.graph, config.verify).agree);
    if (!agrees || contender.constant_shapes) continue;
    const auto file = folder / fmt::format("{}.onnx", i + 1);
    const TriedGraph tried =
        is_best && result.tried ? *result.tried
                                : try_symbols(original, model, contender.graph, config.verify);
    if (!tried.lost.empty() && !config.fix_shapes) continue;
    export_tried(original, model, tried, file, config.verify,
                 most_weight_bytes(model.graph, config.search.max_weight_growth));
    written.push_back({{"file", file.string()},
                       {"cost_ms", contender.cost.runtime.milliseconds()},
                       {"rewrites", contender.rewrites.size()}});
  }
  return written;
}

}  // namespace reverie
