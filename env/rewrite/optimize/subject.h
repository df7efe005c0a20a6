#pragma once

#include <filesystem>

#include "core/onnx/import.h"

namespace reverie {

/// What is optimized: a graph, and where it was read from a file, the model in it.
struct Subject {
  Subject(const Graph& alone) : graph(alone) {}
  Subject(const ImportedModel& read, std::filesystem::path from)
      : graph(read.graph), model(&read), file(std::move(from)) {}

  const Graph& graph;
  const ImportedModel* model = nullptr;
  std::filesystem::path file;
};

}  // namespace reverie
