#include "tools/rewritten.h"

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
    throw InputError("{}: the rewritten graph disagrees with the original ({}); nothing was written",
                     original, agreement.reason);
}

void write_rewritten(const std::string& original, const ImportedModel& model,
                     const TriedGraph& tried, const std::string& out, const CompareOptions& verify,
                     bool fix_shapes, int64_t max_weight_bytes) {
  if (!tried.lost.empty() && !fix_shapes) {
    copy_model(original, model.info, out);
    fmt::print(stderr, "{}: the model as it was: dimension '{}' would be fixed (--fix-shapes allows that)\n", out,
               fmt::join(tried.lost, "', '"));
    return;
  }
  const std::set<std::string> lost =
      export_tried(original, model, tried, out, verify, max_weight_bytes);
  for (const std::string& symbol : lost) {
    const bool depends_on_data = model.info.data_extents.contains(symbol);
    fmt::print(stderr, "{}: {}; with other extents the rewritten graph differs, or none could be tried\n", out,
               depends_on_data ? fmt::format("extent '{}' depends on data: written without rewrites", symbol)
                               : fmt::format("dimension '{}' is fixed", symbol));
  }
}

void write_with_constant_shapes(const ImportedModel& model, const Graph& graph,
                                const std::string& out) {
  export_onnx(graph, model.info, out);
  for (const auto& [symbol, extent] : bound_extents(model))
    fmt::print(stderr, "{}: dimension '{}' is fixed at {}\n", out, symbol, extent);
}

}  // namespace reverie
