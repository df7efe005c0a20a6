#include "core/onnx/symbols.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/onnx/proto.h"

namespace reverie {
namespace {

/// Extents to try instead of a bound one, each at least 1 and another than that.
using OtherExtent = int64_t (*)(int64_t bound);
constexpr OtherExtent kOtherExtents[] = {
    [](int64_t bound) { return bound + 1; },
    [](int64_t bound) { return bound + 3; },
    [](int64_t bound) { return bound > 1 ? bound / 2 : 2; },
    [](int64_t bound) { return bound > 1 ? bound - 1 : 3; },
    [](int64_t bound) { return bound > 0 ? 2 * bound : 2; },
};
/// So many of them have to be tried, if the model can be run at so many.
constexpr int kEnoughExtents = 2;

/// A file beside `path` that is gone when this is, with its data.
class ScratchFile {
 public:
  explicit ScratchFile(const std::filesystem::path& path) : file_(path.string()) {}
  ~ScratchFile() {
    std::error_code ignored;
    std::filesystem::remove(file_.temporary() + ".data", ignored);
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  std::filesystem::path path() const { return file_.temporary(); }

 private:
  AsideFile file_;
};

/// What the model declares of an input or output; empty where that is what its type says.
onnx::TensorShapeProto declared_shape(const ImportedModel& model, const std::string& name) {
  const auto known = model.info.value_infos.find(name);
  if (known == model.info.value_infos.end()) return {};
  onnx::ValueInfoProto value;
  REVERIE_CHECK(value.ParseFromString(known->second));
  return value.type().tensor_type().shape();
}

std::set<std::string> symbols_in(const onnx::TensorShapeProto& shape) {
  std::set<std::string> symbols;
  for (const auto& dim : shape.dim())
    if (!dim.has_dim_value()) symbols.insert(proto::symbol_of(dim));
  return symbols;
}

/// Outputs may have symbols of their own for what follows from the inputs'.
std::set<std::string> with_outputs(std::set<std::string> kept, const ImportedModel& model) {
  const std::set<std::string> of_inputs = symbols_of(model);
  if (kept.empty()) return kept;
  for (const GraphOutput& output : model.graph.outputs())
    std::ranges::set_difference(symbols_in(declared_shape(model, output.name)), of_inputs,
                                std::inserter(kept, kept.end()));
  return kept;
}

std::optional<ImportedModel> import_at(const std::filesystem::path& path,
                                       const std::vector<std::string>& shapes) {
  try {
    return import_onnx(path, {shapes});
  } catch (const InputError&) {
    return std::nullopt;
  }
}

enum class Verdict { kFails, kUntried, kHolds };

/// Finds the symbols with whose other extents the graph keeps its meaning.
class SymbolTrial {
 public:
  SymbolTrial(const std::filesystem::path& original, const ImportedModel& model, const Graph& graph,
              const std::filesystem::path& path, const CompareOptions& options)
      : original_(original), model_(model), graph_(graph), options_(options), scratch_(path) {}

  /// Each by itself, and all of them together. Some can have other extents only together.
  std::set<std::string> symbols_that_hold() const {
    std::set<std::string> possible;
    std::set<std::string> proven;
    for (const std::string& symbol : symbols_of(model_)) {
      const Verdict verdict = verdict_on({symbol});
      if (verdict != Verdict::kFails) possible.insert(symbol);
      if (verdict == Verdict::kHolds) proven.insert(symbol);
    }
    if (possible.size() > 1 && verdict_on(possible) == Verdict::kHolds) return possible;
    if (proven.size() < 2) return proven;
    const bool holds = proven != possible && verdict_on(proven) == Verdict::kHolds;
    return holds ? proven : std::set<std::string>();
  }

 private:
  Verdict verdict_on(const std::set<std::string>& symbols) const {
    try {
      export_onnx(graph_, model_.info, scratch_.path(),
                  {.symbols = with_outputs(symbols, model_), .fold_constants = false});
      int tried = 0;
      for (const OtherExtent other : kOtherExtents) {
        const Verdict verdict = verdict_at(shapes_with(model_, symbols, other));
        if (verdict == Verdict::kFails) return verdict;
        if (verdict == Verdict::kHolds && ++tried == kEnoughExtents) break;
      }
      return tried > 0 ? Verdict::kHolds : Verdict::kUntried;
    } catch (const InputError&) {
      return Verdict::kFails;
    }
  }

  /// Untried where the original itself cannot be run.
  Verdict verdict_at(const std::vector<std::string>& shapes) const {
    const auto reference = import_at(original_, shapes);
    if (!reference) return Verdict::kUntried;
    const auto other = import_at(scratch_.path(), shapes);
    if (other && other->warnings.size() <= reference->warnings.size() &&
        compare(reference->graph, other->graph, options_).agree)
      return Verdict::kHolds;
    const bool runs = compare(reference->graph, reference->graph, options_).agree;
    return runs ? Verdict::kFails : Verdict::kUntried;
  }

  const std::filesystem::path& original_;
  const ImportedModel& model_;
  const Graph& graph_;
  const CompareOptions& options_;
  ScratchFile scratch_;
};

}  // namespace

std::set<std::string> symbols_of(const ImportedModel& model) {
  std::set<std::string> symbols;
  for (const NodeId input : model.graph.inputs())
    symbols.merge(symbols_in(declared_shape(model, model.graph.input_name(input))));
  return symbols;
}

std::vector<std::string> shapes_with(const ImportedModel& model, const std::set<std::string>& symbols,
                                     int64_t (*other)(int64_t)) {
  std::vector<std::string> shapes;
  for (const NodeId input : model.graph.inputs()) {
    const std::string& name = model.graph.input_name(input);
    Shape shape = model.graph.type(model.graph.output(input)).shape;
    const onnx::TensorShapeProto declared = declared_shape(model, name);
    for (int i = 0; i < declared.dim_size(); ++i)
      if (!declared.dim(i).has_dim_value() && symbols.contains(proto::symbol_of(declared.dim(i))))
        shape[static_cast<size_t>(i)] = other(shape[static_cast<size_t>(i)]);
    if (!shape.empty()) shapes.push_back(fmt::format("{}={}", name, fmt::join(shape, ",")));
  }
  return shapes;
}

std::set<std::string> export_with_symbols(const std::filesystem::path& original,
                                          const ImportedModel& model, const Graph& graph,
                                          const std::filesystem::path& path,
                                          const CompareOptions& compare) {
  const std::set<std::string> kept =
      SymbolTrial(original, model, graph, path, compare).symbols_that_hold();
  export_onnx(graph, model.info, path, {.symbols = with_outputs(kept, model)});
  std::set<std::string> replaced;
  std::ranges::set_difference(symbols_of(model), kept, std::inserter(replaced, replaced.end()));
  return replaced;
}

}  // namespace reverie
