#include "core/onnx/symbols.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "core/base/error.h"
#include "core/onnx/proto.h"

namespace reverie {
namespace {

constexpr int64_t kOtherExtents[] = {1, 3};

/// A file that is gone when this is.
class ScratchFile {
 public:
  explicit ScratchFile(std::filesystem::path path) : path_(std::move(path)) {}
  ~ScratchFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
    std::filesystem::remove(path_.string() + ".data", ignored);
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
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

/// Whether the graph keeps its meaning with other extents of these symbols.
bool holds_for(const std::set<std::string>& symbols, const std::filesystem::path& original,
               const ImportedModel& model, const std::filesystem::path& written,
               const CompareOptions& options) {
  for (const int64_t more : kOtherExtents) {
    const std::vector<std::string> shapes = shapes_with(model, symbols, more);
    const auto reference = import_at(original, shapes);
    if (!reference) continue;
    const auto other = import_at(written, shapes);
    const bool agrees = other && other->warnings.size() <= reference->warnings.size() &&
                        compare(reference->graph, other->graph, options).agree;
    if (!agrees && compare(reference->graph, reference->graph, options).agree) return false;
  }
  return true;
}

std::set<std::string> symbols_that_hold(const std::filesystem::path& original,
                                        const ImportedModel& model, const Graph& graph,
                                        const std::filesystem::path& path,
                                        const CompareOptions& options) {
  const std::set<std::string> symbols = symbols_of(model);
  if (symbols.empty()) return {};
  const ScratchFile scratch(path.string() + ".symbolic");
  const auto all_hold = [&](const std::set<std::string>& kept) {
    try {
      export_onnx(graph, model.info, scratch.path(),
                  {.symbols = with_outputs(kept, model), .fold_constants = false});
      return holds_for(kept, original, model, scratch.path(), options);
    } catch (const InputError&) {
      return false;
    }
  };
  std::set<std::string> kept;
  for (const std::string& symbol : symbols)
    if (all_hold({symbol})) kept.insert(symbol);
  return kept.size() < 2 || all_hold(kept) ? kept : std::set<std::string>();
}

}  // namespace

std::set<std::string> symbols_of(const ImportedModel& model) {
  std::set<std::string> symbols;
  for (const NodeId input : model.graph.inputs())
    symbols.merge(symbols_in(declared_shape(model, model.graph.input_name(input))));
  return symbols;
}

std::vector<std::string> shapes_with(const ImportedModel& model, const std::set<std::string>& symbols,
                                     int64_t more) {
  std::vector<std::string> shapes;
  for (const NodeId input : model.graph.inputs()) {
    const std::string& name = model.graph.input_name(input);
    Shape shape = model.graph.type(model.graph.output(input)).shape;
    const onnx::TensorShapeProto declared = declared_shape(model, name);
    for (int i = 0; i < declared.dim_size(); ++i)
      if (!declared.dim(i).has_dim_value() && symbols.contains(proto::symbol_of(declared.dim(i))))
        shape[static_cast<size_t>(i)] += more;
    if (!shape.empty()) shapes.push_back(fmt::format("{}={}", name, fmt::join(shape, ",")));
  }
  return shapes;
}

std::set<std::string> export_with_symbols(const std::filesystem::path& original,
                                          const ImportedModel& model, const Graph& graph,
                                          const std::filesystem::path& path,
                                          const CompareOptions& compare) {
  const std::set<std::string> kept = symbols_that_hold(original, model, graph, path, compare);
  export_onnx(graph, model.info, path, {.symbols = with_outputs(kept, model)});
  std::set<std::string> replaced;
  std::ranges::set_difference(symbols_of(model), kept, std::inserter(replaced, replaced.end()));
  return replaced;
}

}  // namespace reverie
