#pragma once

#include <gtest/gtest.h>
#include <onnx/defs/parser.h>
#include <onnx/onnx_pb.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "core/base/error.h"
#include "core/ir/tensor.h"
#include "core/onnx/external.h"
#include "core/onnx/tensors.h"

namespace reverie::testing {

template <typename Message>
Message read_message(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  Message message;
  if (!stream || !message.ParseFromIstream(&stream))
    throw InputError("{} cannot be parsed", path.string());
  return message;
}

template <typename Message>
void write_message(const Message& message, const std::filesystem::path& path) {
  std::ofstream stream(path, std::ios::binary);
  REVERIE_CHECK(message.SerializeToOstream(&stream));
}

/// A model in ONNX's text form.
inline onnx::ModelProto parse(const std::string& text) {
  onnx::ModelProto model;
  const auto status = onnx::OnnxParser::Parse(model, text.c_str());
  EXPECT_TRUE(status.IsOK()) << status.ErrorMessage();
  return model;
}

inline Tensor tensor_of(const onnx::TensorProto& tensor) {
  proto::ExternalFiles none("");
  return proto::read_tensor(tensor, none);
}

}  // namespace reverie::testing
