#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace reverie::testing {

/// Folder of the light models: $REVERIE_MODELS, or ../shared/models beside the repository.
inline std::filesystem::path light_folder() {
  const char* given = std::getenv("REVERIE_MODELS");
  const std::filesystem::path models =
      given != nullptr ? std::filesystem::path(given)
                       : std::filesystem::path(REVERIE_SOURCE_DIR) / "../shared/models";

  return models / "light";
}

inline std::vector<std::string> light_models() {
  return {"squeezenet1_1", "resnet18",  "resnet50", "resnext50_32x4d", "inception_v3", "bert_base",
          "bert_tiny",     "vit_b_16",  "taso_bert", "taso_resnext50", "nasrnn",       "nasnet_a"};
}

}  // namespace reverie::testing
