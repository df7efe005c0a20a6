#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/ir/graph.h"
#include "core/onnx/model_info.h"

namespace reverie {

struct ImportOptions {
  /// Extents of inputs with symbolic dimensions: "name=1,3,224,224". A symbol that one binding
  /// gives a value has it in every input.
  std::vector<std::string> shapes;
};

struct ImportedModel {
  Graph graph;
  ModelInfo info;
  /// Each one line for a person.
  std::vector<std::string> warnings;
};

constexpr int kOldestOpset = 7;
constexpr int kNewestOpset = 21;

/// Reads an ONNX model (standard opset 7 to 21, external data included) and converts it up to the
/// operator table:
///  - `Constant`, `ConstantOfShape` of a constant, initializers and Identity of them are constants;
///    large ones stay in their files until they are needed: the model's own, which must not be changed
///    in place meanwhile (it may be replaced), and others beside it;
///  - a large `ConstantOfShape` is a weight that is known by its name, whatever its value; an Expand of
///    one known element is known by its value, and so is what export_onnx wrote as a formula;
///  - Identity and Dropout vanish; shape computations are folded;
///  - inputs that are initializers too are constants.
/// What the table cannot express (other operators, custom domains, model-local functions, strings, control
/// flow, shapes that are not constant) becomes an Opaque node, whose `proto` attribute holds the
/// serialised node with canonical names and with data of external files; one without a name has that
/// of its first output. Values that its subgraphs capture follow its own inputs, in order of first use.
/// One warning counts them by operator.
///
/// InputError in one line when the file cannot be read, is no valid model, has an unsupported opset
/// or a symbolic dimension without a binding.
ImportedModel import_onnx(const std::filesystem::path& path, const ImportOptions& options = {});

}  // namespace reverie
