#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/exec/compare.h"
#include "core/onnx/export.h"
#include "core/onnx/import.h"

namespace reverie {

/// Symbolic dimensions of the model's inputs, which an import bound to extents, and extents that
/// depend on data (ModelInfo::data_extents). One without a name is a symbol of its own, called by
/// its place: "x[0]".
std::set<std::string> symbols_of(const ImportedModel& model);

/// The numbers to which they were bound.
std::map<std::string, int64_t> bound_extents(const ImportedModel& model);

/// Binds them again; symbols that `extents` leaves out have the model's own.
ImportOptions options_at(const ImportedModel& model, const std::map<std::string, int64_t>& extents);
/// Binds some ("batch=3") and leaves the rest to be assumed.
ImportOptions options_with(const ImportedModel& model, std::vector<std::string> dims);

/// Writes the graph with every symbol kept and nothing tried: for runs of the file with the extents
/// that the model was imported with, and with what data make of others.
void export_untried(const ImportedModel& model, const Graph& graph,
                    const std::filesystem::path& path);

/// A graph as its file is written, and the symbols (symbols_of) for which that was seen to hold.
struct TriedGraph {
  /// Where a symbol is kept, what depends on symbols is written back (core/onnx/shape_code.h).
  Graph graph;
  std::set<std::string> kept, lost;
  std::set<std::string> untried;  ///< of those lost: the model runs with no other extent of them
  bool is_as_imported = false;    ///< it is the model's own, and nothing is lost
  std::string left_out;           ///< what there was no time to compare; empty: nothing
  bool is_as_in_file = false;     ///< what depends on symbols is computed as the file does
};

/// Writes the graph to a temporary file and runs it with other extents bound (other_extents.h). A
/// symbolic dimension is kept where the file still agrees with the model at `original`, wherever
/// that itself can be run, which it must be able to at one of them; also with an extent of 1, which
/// is broadcast and hence proves nothing of the others. Weights are drawn anew for that, and what
/// is computed from them is computed again (core/exec/compare.h). `model` was imported from there.
///
/// Comparing values takes at most `compare.seconds`, kSymbolSeconds where that is 0, a first
/// comparison excepted. After that shapes alone are compared.
TriedGraph try_symbols(const std::filesystem::path& original, const ImportedModel& model,
                       const Graph& graph, const CompareOptions& compare = {});

inline constexpr double kSymbolSeconds = 10;

/// The same for `graph`, which is written as the same file but for names and notes. Where it is
/// not, what was tried stays.
TriedGraph tried_as(const TriedGraph& tried, const ImportedModel& model, const Graph& graph);

/// As export_onnx, but inputs and outputs keep the symbolic dimensions that were seen to hold; the
/// others are replaced by their extents. An extent that depends on data cannot be replaced: where
/// one is lost, the model is written as it was imported, without any rewrite. Where the graph is
/// the model's own and nothing was folded or left out either, the file is a copy of the original,
/// byte by byte. `max_weight_bytes`: see ExportOptions. Returns the symbols that were lost.
std::set<std::string> export_tried(const std::filesystem::path& original,
                                   const ImportedModel& model, const TriedGraph& tried,
                                   const std::filesystem::path& path,
                                   const CompareOptions& compare = {},
                                   int64_t max_weight_bytes = ExportOptions().max_weight_bytes);

/// Tries the graph and writes it.
std::set<std::string> export_with_symbols(const std::filesystem::path& original,
                                          const ImportedModel& model, const Graph& graph,
                                          const std::filesystem::path& path,
                                          const CompareOptions& compare = {});

}  // namespace reverie
