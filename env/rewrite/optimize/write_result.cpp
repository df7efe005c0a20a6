#include "env/rewrite/optimize/write_result.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/error.h"
#include "core/onnx/copy.h"
#include "core/onnx/export.h"

namespace reverie {

void require_agreement(const std::string& original, const Agreement& agreement) {
  if (!agreement.agree && !agreement.disagree())
    throw InputError(
        "{}: {}; nothing was written (give inputs that the model takes by --range or --inputs)",
        original, agreement.reason);
  if (!agreement.agree)
    throw InputError(
        "{}: the rewritten graph disagrees with the original ({}); nothing was written", original,
        agreement.reason);
}

std::vector<std::string> write_rewritten(const std::string& original, const ImportedModel& model,
                                         const TriedGraph& tried, const std::string& out,
                                         const CompareOptions& verify, bool fix_shapes,
                                         int64_t max_weight_bytes) {
  if (!tried.lost.empty() && !fix_shapes) {
    copy_model(original, model.info, out);
    return {fmt::format(
        "{}: the model as it was: dimension '{}' would be fixed (--fix-shapes allows that)", out,
        fmt::join(tried.lost, "', '"))};
  }
  const std::set<std::string> lost =
      export_tried(original, model, tried, out, verify, max_weight_bytes);
  std::vector<std::string> sentences;
  for (const std::string& symbol : lost) {
    const bool depends_on_data = model.info.data_extents.contains(symbol);
    sentences.push_back(fmt::format(
        "{}: {}; with other extents the rewritten graph differs, or none could be tried", out,
        depends_on_data
            ? fmt::format("extent '{}' depends on data: written without rewrites", symbol)
            : fmt::format("dimension '{}' is fixed", symbol)));
  }
  return sentences;
}

std::vector<std::string> write_with_constant_shapes(const ImportedModel& model, const Graph& graph,
                                                    const std::string& out) {
  export_onnx(graph, model.info, out);
  std::vector<std::string> sentences;
  for (const auto& [symbol, extent] : bound_extents(model))
    sentences.push_back(fmt::format("{}: dimension '{}' is fixed at {}", out, symbol, extent));
  return sentences;
}

std::vector<std::string> write_optimized(const std::string& original, const ImportedModel& model,
                                         const Optimized& result, const OptimizeConfig& config,
                                         const std::string& out, const NoteSources* notes) {
  if (!result.changed) {
    copy_model(original, model.info, out);
    return {};
  }
  const SearchResult& search = result.search;
  const Graph best =
      notes == nullptr ? search.best : noted(search.best, model.graph, search.rewrites, *notes);
  if (result.constant_shapes) return write_with_constant_shapes(model, best, out);
  TriedGraph tried =
      result.tried ? *result.tried : try_symbols(original, model, best, config.verify);
  if (result.tried && notes != nullptr) tried = tried_as(tried, model, best);
  return write_rewritten(original, model, tried, out, config.verify, config.fix_shapes,
                         most_weight_bytes(model.graph, config.search.max_weight_growth));
}

}  // namespace reverie
