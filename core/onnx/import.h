#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/ir/graph.h"
#include "core/onnx/model_info.h"

namespace reverie {

/// Extents of symbolic dimensions. Those that nothing binds get a plausible one (1 for a batch, 128
/// for a sequence, 224 for an image: core/onnx/default_extents.h), or another with which the
/// model's shapes agree, and one warning names them. Where none is found, a warning says so, and
/// what follows inputs with such dimensions is untouched.
struct ImportOptions {
  /// Of whole inputs: "name=1,3,224,224". A symbol that one binding gives a value has it in every
  /// input.
  std::vector<std::string> shapes = {};
  /// By name: "batch=1,seq=128". A dimension without a name is called by its place: "x[0]=1".
  std::vector<std::string> dims = {};
  /// What stands for extents that depend on data, by their names in ModelInfo::data_extents; others
  /// get a number of their own.
  std::map<std::string, int64_t> data_extents = {};
  /// Otherwise a value with such an extent has an unknown type, and what follows it is untouched.
  bool bind_data_extents = true;
  /// Extents that the graph carries at several samples (core/ir/types.h), so that what rewrites it
  /// leaves them open. Others are numbers in it.
  enum class Carried { kNone, kOfData, kAll };
  Carried carried = Carried::kNone;
};

/// A node that the operator table cannot express.
struct UntouchedNode {
  std::string name;  ///< in the file; that of its first output where it has none
  std::string op;    ///< "NonZero", or "com.example::Fused"
  /// "no such operator in the table", "input 1 is not constant", "type of input 0 is unknown: it
  /// depends on NonZero at mask", ...
  std::string reason;
};

namespace proto {
class SampledFile;
}

struct ImportedModel {
  Graph graph;
  ModelInfo info;
  int64_t nodes = 0;  ///< of the file's graph, with functions inlined
  /// The opaque nodes of `graph` in the order of the file.
  std::vector<UntouchedNode> untouched = {};
  /// Each one line for a person.
  std::vector<std::string> warnings = {};
  /// The file at the samples of `graph`; null where no extent is carried.
  std::shared_ptr<const proto::SampledFile> file = nullptr;
  /// How many of `nodes` each operator has, by names as UntouchedNode::op; one of ONNX Runtime's
  /// that the operator table has by that of its row.
  std::map<std::string, int64_t> operators = {};
};

constexpr int kOldestOpset = 1;
constexpr int kNewestOpset = 24;

/// Reads an ONNX model (standard opset 1 to 24, external data included) and converts it up to the
/// operator table:
///  - `Constant`, `ConstantOfShape` of a constant, initializers and Identity of them are constants;
///    large ones stay in their files until they are needed: the model's own, which must not be
///    changed in place meanwhile (it may be replaced), and others beside it;
///  - a large `ConstantOfShape` is a weight that is known by its name, whatever its value; an
///    Expand of one known element is known by its value, and so is what export_onnx wrote as a
///    formula;
///  - Identity and Dropout vanish; shape computations are folded;
///  - inputs that are initializers too are constants; from IR version 4 on, where that is a default
///    value that a caller may replace, a warning names them.
///
/// Some operators of ONNX Runtime's are read, too, and what it adds to the standard
/// (core/onnx/runtime_forms.h). Model-local functions are inlined (core/onnx/inline_functions.h).
/// What the table cannot express (other operators, custom domains, functions for another opset,
/// strings, control flow, shapes that are not constant) becomes an Opaque node, whose `proto`
/// attribute holds the serialised node with canonical names and with data of external files; one
/// without a name has that of its first output. Values that its subgraphs capture follow its own
/// inputs, in order of first use. One warning counts them by operator; `untouched` names each with
/// the reason.
///
/// An output of an opaque node of known rank whose extents are not known (those of NonZero, TopK
/// with a computed k, Loop, ...) has numbers in their place, which differ from each other, so that
/// what follows is rewritten as for a symbolic dimension. ModelInfo::data_extents lists them. They
/// must not come into a file: export_onnx refuses it, export_with_symbols (core/onnx/symbols.h)
/// writes what holds for others, too.
///
/// Nodes and values keep their names (Graph::names): what a node of the file became has its name.
/// What gives its outputs has its metadata_props, too (core/onnx/node_notes.h).
///
/// The file need not please ONNX's checker: nodes may stand in any order, and imports, names and
/// types that can be found out may be missing (core/onnx/put_in_order.h). InputError in one line
/// when it cannot be read or has an unsupported opset, for nodes that no runtime takes, and for
/// bindings that do not fit.
ImportedModel import_onnx(const std::filesystem::path& path, const ImportOptions& options = {});

}  // namespace reverie
