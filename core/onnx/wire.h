#pragma once

#include <filesystem>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "core/ir/weight.h"
#include "core/onnx/external.h"
#include "core/onnx/proto.h"

/// Model files whose large tensors do not go through Protobuf, which would hold all of them in
/// memory.
namespace reverie::proto {

/// Parses the file without the data of its large tensors: an initializer or a tensor attribute of a
/// node of the graph, of numbers, whose `raw_data` has more than kLargestParsed bytes, gets these
/// bytes as external data that lie in the file itself; so does one with as many of `float_data`.
/// Subgraphs, functions and sparse tensors come whole. InputError where it is no model, or larger
/// than Protobuf can read.
onnx::ModelProto parse_model(const InputFile& file);

/// Data that parse_model left in the file.
struct DataLeft {
  int field = 0;  ///< of the tensor that they are
  int64_t offset = 0, length = 0;
};
/// Where those of `tensor` lie in the model's file, which is called `location`. The tensor is then
/// what it was, but for that field. Nothing where parse_model left none.
std::optional<DataLeft> take_data_left(const std::string& location, onnx::TensorProto* tensor);

inline constexpr int kLargestParsed = 16 << 10;

/// Says that the tensor's `length` bytes lie in `location` from `offset` on.
void set_external(const std::string& location, int64_t offset, int64_t length,
                  onnx::TensorProto* tensor);

/// An initializer that holds everything but its data.
struct LargeTensor {
  onnx::TensorProto declaration;
  WeightPtr weight;
};

/// InputError, naming `path`, where a message of so many bytes is too large for Protobuf.
void require_message(int64_t bytes, const std::filesystem::path& path);

/// Writes the model with `tensors` after its own initializers. A stream that cannot be written has
/// failed afterwards; InputError, naming `path`, when there would be more than 2 GiB.
void write_model(onnx::ModelProto model, const std::vector<LargeTensor>& tensors,
                 const std::filesystem::path& path, std::ostream& stream);

}  // namespace reverie::proto
