#include "core/onnx/import.h"
#include "core/onnx/symbols.h"
#include "tests/fuzz/target.h"

/// What is read can be written, and read again.
void reverie::fuzz::read_onnx(std::string_view bytes) {
  const std::string path = as_file("model.onnx", bytes);
  const ImportedModel model = import_onnx(path);
  model.graph.validate();
  const std::string again = as_file("again.onnx", "");
  export_with_symbols(path, model, model.graph, again);
  import_onnx(again);
}
