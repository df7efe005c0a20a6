#pragma once

#include <filesystem>
#include <string>

#include "core/onnx/proto.h"

namespace reverie::proto {

/// Names for files of weights beside a model: "MODEL.data", "MODEL.2.data", ... None of them is a
/// file that another model may hold its weights in: it is not there yet, or the model that lies
/// there now, which is about to be replaced, holds weights in it, and no other *.onnx in that
/// folder.
class DataFileNames {
 public:
  explicit DataFileNames(std::filesystem::path model) : model_(std::move(model)) {}
  std::filesystem::path next();

 private:
  std::filesystem::path model_;
  int last_ = 0;
};

/// The file beside its model that holds the tensor's data; empty where it lies in the model.
std::string location_of(const onnx::TensorProto& tensor);

}  // namespace reverie::proto
