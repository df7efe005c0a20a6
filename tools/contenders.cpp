#include "tools/contenders.h"

#include <fmt/format.h>

#include "core/base/json.h"
#include "core/base/words.h"
#include "core/ir/structural_hash.h"
#include "core/onnx/symbols.h"
#include "tools/units.h"

namespace reverie {

namespace {

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
  if (timed.error) json["error"] = *timed.error;
  return json;
}

std::string interval_of(const ContestantResult& timed) {
  if (timed.finalist) return fmt::format("{:.4f} to {:.4f}", timed.ratio.low, timed.ratio.high);
  return timed.median > 0 ? "screened out" : "not measured";
}

std::string remark_on(const Optimized& result, size_t contestant) {
  const std::string rules = contestant == 0 ? "" : result.contenders[contestant - 1].rules;
  if (static_cast<int>(contestant) != result.benchmark.winner) return rules;
  return rules.empty() ? "kept" : "kept: " + rules;
}

}  // namespace

std::string name_of_contestant(size_t contestant) {
  return contestant == 0 ? "original" : fmt::format("contender {}", contestant);
}

HtmlTable contestants_of(const Optimized& result) {
  const std::vector<ContestantResult>& contestants = result.benchmark.contestants;
  const bool has_errors = !contestants.empty() && contestants.front().error.has_value();
  HtmlTable table{{"", "sum of costs", "median", "ratio", "95% interval"}};
  if (has_errors) table.heads.push_back("error");
  table.heads.push_back("");
  table.left = {0, table.heads.size() - 1};
  for (size_t i = 0; i < contestants.size(); ++i) {
    const ContestantResult& timed = contestants[i];
    table.rows.push_back({name_of_contestant(i),
                          fmt::format("{:.4f} ms", cost_of(result, i).runtime.milliseconds()),
                          fmt::format("{:.4f} ms", timed.median / kMillisecond),
                          fmt::format("{:.4f}", timed.ratio.median), interval_of(timed)});
    if (has_errors)
      table.rows.back().push_back(timed.error ? fmt::format("{:.1e}", *timed.error) : "");
    table.rows.back().push_back(remark_on(result, i));
  }
  table.marked = table.rows.empty() ? -1 : result.benchmark.winner;
  return table;
}

std::string machine_sentence(const Optimized& result) {
  if (result.benchmark.contestants.empty()) return "";
  return fmt::format("end to end on {} ({}):", result.machine.device, result.machine.library);
}

std::vector<std::string> confirmed_sentences(const Optimized& result) {
  std::vector<std::string> sentences;
  if (const auto winner = static_cast<size_t>(result.benchmark.winner); winner > 0) {
    const MedianInterval& ratio = result.benchmark.contestants[winner].ratio;
    sentences.push_back(fmt::format(
        "{} is kept: it takes {:.4f} of the original's time (95% interval {:.4f} to {:.4f})",
        name_of_contestant(winner), ratio.median, ratio.low, ratio.high));
  }
  if (result.benchmark.fallbacks > 0)
    sentences.push_back(fmt::format(
        "{} ran on the reference kernels; beside a device that counts with all transfers",
        counted(result.benchmark.fallbacks, "node")));
  return sentences;
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
                      const ImportedModel& model, const Optimized& result,
                      const OptimizeConfig& config, const NoteSources* notes) {
  Json::Array written;
  for (size_t i = 0; i < result.contenders.size(); ++i) {
    const Contender& contender = result.contenders[i];
    const bool is_best = isomorphic(contender.graph, result.search.best);
    const bool agrees = contender.simplified ||
                        (is_best ? result.verified.agree
                                 : compare(model.graph, contender.graph, config.verify).agree);
    if (!agrees || contender.constant_shapes) continue;
    const auto file = folder / fmt::format("{}.onnx", i + 1);
    TriedGraph tried = is_best && result.tried
                           ? *result.tried
                           : try_symbols(original, model, contender.graph, config.verify);
    if (notes != nullptr)
      tried =
          tried_as(tried, model, noted(contender.graph, model.graph, contender.rewrites, *notes));
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
