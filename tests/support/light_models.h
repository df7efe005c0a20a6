#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "core/models/models.h"
#include "core/onnx/export.h"
#include "tests/support/temporary_directory.h"

namespace reverie::testing {

inline std::vector<std::string> light_models() {
  return {"squeezenet1_1", "resnet18", "resnet50",  "resnext50_32x4d", "inception_v3", "bert_base",
          "bert_tiny",     "vit_b_16", "taso_bert", "taso_resnext50",  "nasrnn",       "nasnet_a"};
}

/// Where an exporter's file of a light model would be: in $REVERIE_MODELS, or in ../shared/models
/// beside the repository.
inline std::filesystem::path exported_light_model(const std::string& name) {
  const char* given = std::getenv("REVERIE_MODELS");
  const std::filesystem::path models =
      given != nullptr ? std::filesystem::path(given)
                       : std::filesystem::path(REVERIE_SOURCE_DIR) / "../shared/models";
  return models / "light" / (name + ".onnx");
}

/// The exporter's file where it is there, else one that the project's own builder makes.
inline std::filesystem::path light_model(const std::string& name) {
  const std::filesystem::path exported = exported_light_model(name);
  if (std::filesystem::exists(exported)) return exported;
  static const TemporaryDirectory built;
  const std::filesystem::path path = built / (name + ".onnx");
  ModelInfo info;
  info.graph_name = name;
  ModelOptions options;
  options.light = true;
  if (!std::filesystem::exists(path))
    export_onnx(build_model(name == "resnext50_32x4d" ? "resnext50" : name, options), info, path);
  return path;
}

}  // namespace reverie::testing
