#pragma once

#include <filesystem>
#include <iosfwd>

#include "core/onnx/external.h"
#include "core/onnx/proto.h"

namespace reverie::proto {

/// Writes a model that parse_model read from `file` as Protobuf writes it with all its data; those
/// that parse_model left there go from file to file. Errors as for write_model.
void write_parsed(const onnx::ModelProto& model, const InputFile& file,
                  const std::filesystem::path& path, std::ostream& stream);

}  // namespace reverie::proto
