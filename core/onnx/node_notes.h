#pragma once

#include <onnx/onnx_pb.h>

#include <string>

#include "core/ir/graph.h"

namespace reverie::proto {

/// NodeProto.metadata_props, but for what this program wrote there (core/onnx/note_keys.h). The
/// field came with IR version 10, after the ONNX library of Debian 12; readers of older versions
/// pass over it.
NodeNotes notes_of(const onnx::NodeProto& node);
/// Replaces all of it.
void set_notes(const NodeNotes& notes, onnx::NodeProto* node);
/// Replaces what it tells under `key`; an empty value: nothing is told.
void set_note(const std::string& key, const std::string& value, onnx::NodeProto* node);

}  // namespace reverie::proto
