#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "core/onnx/model_info.h"

namespace reverie {

/// The model as it stands, byte by byte, with the files beside it that hold its weights; `info` is
/// that of the model. One that is not in order is put in order (core/onnx/put_in_order.h). A file
/// that is copied onto itself stays. Where a file of weights would replace one of other content, it
/// gets the model's name instead ("MODEL.data"), and the copy says so. InputError where one cannot
/// be read or written.
void copy_model(const std::filesystem::path& from, const ModelInfo& info,
                const std::filesystem::path& to);

/// What the nodes of a model tell under a key, by what an import calls them (Graph::names).
struct ToldOfNodes {
  std::string key;
  std::map<std::string, std::string> values;
};

/// The same with what its nodes tell. What others told under that key is gone. Nodes within
/// functions and subgraphs tell nothing.
void copy_model(const std::filesystem::path& from, const ModelInfo& info,
                const std::filesystem::path& to, const ToldOfNodes& told);

}  // namespace reverie
