#include "core/onnx/symbols.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>

#include "core/base/error.h"
#include "core/base/scratch_folder.h"
#include "core/base/stopwatch.h"
#include "core/base/words.h"
#include "core/exec/graph_interface.h"
#include "core/ir/structural_hash.h"
#include "core/onnx/lower.h"
#include "core/onnx/other_extents.h"
#include "core/onnx/proto.h"
#include "core/onnx/shape_code.h"

namespace reverie {
namespace {

using Extents = proto::Extents;

/// So many extents have to be tried, if the model can be run at so many: of one symbol, and of
/// several together.
constexpr int kEnoughAlone = 2, kEnoughTogether = 6;

/// A file holds numbers of single precision, where the graphs that a search compares do not.
constexpr double kOfFiles = 1e-4;

/// Of an input or output, by axis: empty where the model declares a number, or nothing.
std::vector<std::string> declared_symbols(const ImportedModel& model, const std::string& name) {
  const auto known = model.info.value_infos.find(name);
  if (known == model.info.value_infos.end()) return {};
  onnx::ValueInfoProto value;
  REVERIE_CHECK(value.ParseFromString(known->second));
  return proto::dimension_symbols(value);
}

const Shape& input_shape(const ImportedModel& model, NodeId input) {
  return model.graph.type(model.graph.output(input)).shape;
}

/// One for every axis of the input.
std::vector<std::string> input_symbols(const ImportedModel& model, NodeId input) {
  std::vector<std::string> symbols = declared_symbols(model, model.graph.input_name(input));
  symbols.resize(input_shape(model, input).size());
  return symbols;
}

/// Outputs may have symbols of their own for what follows from the inputs'.
std::set<std::string> with_outputs(std::set<std::string> kept, const ImportedModel& model) {
  const std::map<std::string, int64_t> of_inputs = bound_extents(model);
  for (const auto& [name, number] : model.info.data_extents) kept.insert(name);
  if (kept.empty()) return kept;
  for (const GraphOutput& output : model.graph.outputs())
    for (const std::string& symbol : declared_symbols(model, output.name))
      if (!symbol.empty() && !of_inputs.contains(symbol)) kept.insert(symbol);
  return kept;
}

std::optional<ImportedModel> import_at(const std::filesystem::path& path,
                                       const ImportOptions& options) {
  try {
    return import_onnx(path, options);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

/// What is broadcast: it can speak against a graph, but not for it.
Extents at_one(Extents extents, const std::set<std::string>& symbols) {
  for (auto& [symbol, extent] : extents)
    if (symbols.contains(symbol)) extent = 1;
  return extents;
}

double total_flops(const Graph& graph) {
  double total = 0;
  for (const NodeId node : graph.nodes())
    if (graph.is_work(node)) total += static_cast<double>(flops(graph, node));
  return total;
}

enum class Verdict { kFails, kUntried, kHolds };

/// Finds the symbols with whose other extents the graph keeps its meaning.
class SymbolTrial {
 public:
  SymbolTrial(const std::filesystem::path& original, const ImportedModel& model, const Graph& graph,
              const CompareOptions& options)
      : original_(original),
        model_(model),
        graph_(graph),
        options_(options),
        seconds_(options.seconds > 0 ? options.seconds : kSymbolSeconds),
        bound_(bound_extents(model)),
        bound_flops_(total_flops(model.graph)),
        file_(scratch_.path() / "trial.onnx") {
    options_.extremes = false;  // what they could show, the bound extents show
    options_.tolerance = std::max(options_.tolerance, kOfFiles);
  }

  /// Each by itself, and all of them together. Some can have other extents only together: those
  /// that were bound to the same one are tried so, where all are too many.
  std::set<std::string> symbols_that_hold() {
    std::set<std::string> possible;
    std::set<std::string> proven;
    std::map<int64_t, std::set<std::string>> untried;
    for (const auto& [symbol, extent] : bound_) {
      const Verdict verdict = verdict_on({symbol});
      if (verdict != Verdict::kFails) possible.insert(symbol);
      if (verdict == Verdict::kHolds) proven.insert(symbol);
      if (verdict == Verdict::kUntried) untried[extent].insert(symbol);
    }
    if (holds(possible)) return possible;
    for (const auto& [extent, symbols] : untried)
      if (holds(symbols)) proven.insert(symbols.begin(), symbols.end());
    return holds(proven) ? proven : std::set<std::string>();
  }

  /// Those of which no other extent could be tried.
  std::set<std::string> untried() const {
    std::set<std::string> symbols;
    for (const auto& [tried, verdict] : verdicts_)
      if (tried.size() == 1 && verdict == Verdict::kUntried)
        symbols.insert(tried.begin(), tried.end());
    return symbols;
  }

  /// What there was no time for, in words; empty: nothing.
  std::string left_out() const {
    if (shapes_alone_ == 0) return {};
    return fmt::format(
        "values at {} of {}, of which shapes agree: that would take more than {:.2g} s",
        shapes_alone_, counted(shapes_alone_ + values_, "other extent"), seconds_);
  }

 private:
  bool holds(const std::set<std::string>& symbols) {
    return symbols.empty() || verdict_on(symbols) == Verdict::kHolds;
  }

  Verdict verdict_on(const std::set<std::string>& symbols) {
    const auto [known, added] = verdicts_.try_emplace(symbols);
    if (added) known->second = trial_of(symbols);
    return known->second;
  }

  Verdict trial_of(const std::set<std::string>& symbols) {
    try {
      export_onnx(graph_, model_.info, file_,
                  {.symbols = with_outputs(symbols, model_), .fold_constants = false});
      if (verdict_at(at_one(bound_, symbols)) == Verdict::kFails) return Verdict::kFails;
      const Verdict apart =
          verdict_at(proto::held_out_extents(bound_, symbols, false), symbols.size());
      if (symbols.size() == 1 || apart != Verdict::kUntried) return apart;
      const Verdict tied =
          verdict_at(proto::held_out_extents(bound_, symbols, true), symbols.size());
      return tied != Verdict::kUntried ? tied : verdict_at(fitted(symbols), symbols.size());
    } catch (const InputError&) {
      return Verdict::kFails;
    }
  }

  std::vector<Extents> fitted(const std::set<std::string>& symbols) const {
    const auto bind = [&](const std::vector<std::string>& dims) -> std::optional<Extents> {
      const auto model = import_at(original_, options_with(model_, dims));
      return model ? std::optional(bound_extents(*model)) : std::nullopt;
    };
    return proto::fitted_extents(bound_, symbols, proto::held_out_extents(bound_, symbols, false),
                                 bind);
  }

  Verdict verdict_at(const std::vector<Extents>& all, size_t symbols) {
    int tried = 0;
    for (const Extents& extents : all) {
      const Verdict verdict = verdict_at(extents);
      if (verdict == Verdict::kFails) return verdict;
      if (verdict == Verdict::kHolds && ++tried == (symbols > 1 ? kEnoughTogether : kEnoughAlone))
        break;
    }
    return tried > 0 ? Verdict::kHolds : Verdict::kUntried;
  }

  /// Untried where the original itself cannot be run, and where the extents are those that are
  /// bound.
  Verdict verdict_at(const Extents& extents) {
    if (extents == bound_) return Verdict::kUntried;
    const ImportOptions options = options_at(model_, extents);
    const auto reference = import_at(original_, options);
    if (!reference || reference->untouched.size() > model_.untouched.size())
      return Verdict::kUntried;
    const auto other = import_at(file_, options);
    if (other && other->warnings.size() <= reference->warnings.size() &&
        agree(reference->graph, other->graph))
      return Verdict::kHolds;
    const bool runs = compare(reference->graph, reference->graph, options_).agree;
    return runs ? Verdict::kFails : Verdict::kUntried;
  }

  /// In shapes, and in values unless the extents make it much more work than the bound ones do.
  bool agree(const Graph& reference, const Graph& other) {
    constexpr double kMuchMore = 2.5, kLittle = 1e9;
    if (total_flops(reference) > std::max(kLittle, kMuchMore * bound_flops_))
      return GraphInterface(reference) == GraphInterface(other);
    if (values_ > 0 && watch_.seconds() > seconds_) {
      ++shapes_alone_;
      return GraphInterface(reference) == GraphInterface(other);
    }
    ++values_;
    return compare(reference, other, options_).agree;
  }

  const std::filesystem::path& original_;
  const ImportedModel& model_;
  const Graph& graph_;
  CompareOptions options_;
  double seconds_;
  Stopwatch watch_;
  int values_ = 0, shapes_alone_ = 0;  ///< comparisons
  Extents bound_;
  double bound_flops_;
  ScratchFolder scratch_;
  std::filesystem::path file_;
  std::map<std::set<std::string>, Verdict> verdicts_;
};

}  // namespace

std::map<std::string, int64_t> bound_extents(const ImportedModel& model) {
  std::map<std::string, int64_t> extents;
  for (const NodeId input : model.graph.inputs()) {
    const std::vector<std::string> symbols = input_symbols(model, input);
    for (size_t axis = 0; axis < symbols.size(); ++axis)
      if (!symbols[axis].empty()) extents.emplace(symbols[axis], input_shape(model, input)[axis]);
  }
  extents.insert(model.info.data_extents.begin(), model.info.data_extents.end());
  return extents;
}

std::set<std::string> symbols_of(const ImportedModel& model) {
  std::set<std::string> symbols;
  for (const auto& [symbol, extent] : bound_extents(model)) symbols.insert(symbol);
  return symbols;
}

ImportOptions options_at(const ImportedModel& model,
                         const std::map<std::string, int64_t>& extents) {
  ImportOptions options;
  for (const NodeId input : model.graph.inputs()) {
    Shape shape = input_shape(model, input);
    const std::vector<std::string> names = input_symbols(model, input);
    for (size_t axis = 0; axis < names.size(); ++axis)
      if (const auto at = extents.find(names[axis]); at != extents.end()) shape[axis] = at->second;
    if (!shape.empty())
      options.shapes.push_back(
          fmt::format("{}={}", model.graph.input_name(input), fmt::join(shape, ",")));
  }
  for (const auto& [name, number] : model.info.data_extents) {
    const auto at = extents.find(name);
    options.data_extents[name] = at == extents.end() ? number : at->second;
  }
  return options;
}

ImportOptions options_with(const ImportedModel& model, std::vector<std::string> dims) {
  ImportOptions options = options_at(model, {});
  options.shapes.clear();
  options.dims = std::move(dims);
  return options;
}

void export_untried(const ImportedModel& model, const Graph& graph,
                    const std::filesystem::path& path) {
  export_onnx(model.file ? proto::with_shape_code(*model.file, graph) : graph, model.info, path,
              {.symbols = with_outputs(symbols_of(model), model)});
}

namespace {

std::set<std::string> without(std::set<std::string> symbols, const std::set<std::string>& kept) {
  std::erase_if(symbols, [&](const std::string& symbol) { return kept.contains(symbol); });
  return symbols;
}

TriedGraph tried_with(proto::ExtentCode code, const std::filesystem::path& original,
                      const ImportedModel& model, const Graph& graph,
                      const CompareOptions& compare) {
  Graph written = model.file ? proto::with_shape_code(*model.file, graph, code) : graph;
  SymbolTrial trial(original, model, written, compare);
  std::set<std::string> kept = trial.symbols_that_hold();
  TriedGraph tried;
  tried.lost = without(symbols_of(model), kept);
  tried.untried = without(trial.untried(), kept);
  tried.kept = std::move(kept);
  tried.graph = std::move(written);
  tried.left_out = trial.left_out();
  tried.is_as_in_file = code == proto::ExtentCode::kAsInFile;
  return tried;
}

/// The model as it is where values with extents that depend on data have no known type; what is
/// lost then or was before.
std::set<std::string> export_unbound(const std::filesystem::path& original,
                                     const ImportedModel& model, const std::filesystem::path& path,
                                     const CompareOptions& compare, std::set<std::string> lost) {
  ImportOptions options = options_at(model, {});
  options.bind_data_extents = false;
  options.carried = model.file ? ImportOptions::Carried::kAll : ImportOptions::Carried::kNone;
  const ImportedModel unbound = import_onnx(original, options);
  lost.merge(export_with_symbols(original, unbound, unbound.graph, path, compare));
  return lost;
}

}  // namespace

TriedGraph try_symbols(const std::filesystem::path& original, const ImportedModel& model,
                       const Graph& graph, const CompareOptions& compare) {
  TriedGraph best = tried_with(proto::ExtentCode::kShort, original, model, graph, compare);
  if (!best.lost.empty() && model.file) {
    TriedGraph as_in_file =
        tried_with(proto::ExtentCode::kAsInFile, original, model, graph, compare);
    if (as_in_file.kept.size() > best.kept.size()) best = std::move(as_in_file);
  }
  best.is_as_imported = best.lost.empty() && isomorphic(graph, model.graph);
  if (best.kept.empty()) best.graph = graph;
  return best;
}

TriedGraph tried_as(const TriedGraph& tried, const ImportedModel& model, const Graph& graph) {
  const auto code = tried.is_as_in_file ? proto::ExtentCode::kAsInFile : proto::ExtentCode::kShort;
  TriedGraph result = tried;
  result.graph =
      model.file && !tried.kept.empty() ? proto::with_shape_code(*model.file, graph, code) : graph;
  constexpr bool kFold = false;  // equal expressions on constants are equal constants
  const bool is_same = isomorphic(lower(result.graph, kFold), lower(tried.graph, kFold));
  return is_same ? result : tried;
}

std::set<std::string> export_tried(const std::filesystem::path& original,
                                   const ImportedModel& model, const TriedGraph& tried,
                                   const std::filesystem::path& path, const CompareOptions& compare,
                                   int64_t max_weight_bytes) {
  const bool loses_data = std::ranges::any_of(model.info.data_extents, [&](const auto& extent) {
    return tried.lost.contains(extent.first);
  });
  if (loses_data) return export_unbound(original, model, path, compare, tried.lost);
  export_onnx(tried.graph, model.info, path,
              {.symbols = with_outputs(tried.kept, model),
               .max_weight_bytes = max_weight_bytes,
               .original = tried.is_as_imported ? original : std::filesystem::path()});
  return tried.lost;
}

std::set<std::string> export_with_symbols(const std::filesystem::path& original,
                                          const ImportedModel& model, const Graph& graph,
                                          const std::filesystem::path& path,
                                          const CompareOptions& compare) {
  return export_tried(original, model, try_symbols(original, model, graph, compare), path, compare);
}

}  // namespace reverie
