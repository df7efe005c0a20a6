#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "core/exec/compare.h"
#include "core/ir/graph.h"
#include "core/onnx/import.h"

namespace reverie {

/// What a person says of the inputs on which graphs are compared.
struct GivenInputs {
  std::vector<std::string> ranges;  ///< "ids=0,30521"
  std::string file;                 ///< .npz
};

/// The options --range and --inputs.
void add_input_options(CLI::App& command, GivenInputs& given);

/// `extents` with those of the arrays in the file, which bind symbolic dimensions as --shape does;
/// what is given by --shape stays. InputError where the file cannot be read.
ImportOptions with_extents(ImportOptions extents, const GivenInputs& given);

/// `options` with what was given for the inputs of `graph`. InputError names an input that the
/// graph does not have, a range that its type does not hold, or an array of another type or shape.
CompareOptions with_inputs(CompareOptions options, const GivenInputs& given, const Graph& graph);

}  // namespace reverie
