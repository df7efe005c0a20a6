#include "core/onnx/copy.h"

#include <functional>
#include <map>
#include <string>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/onnx/data_files.h"
#include "core/onnx/external.h"
#include "core/onnx/node_notes.h"
#include "core/onnx/pending_file.h"
#include "core/onnx/put_in_order.h"
#include "core/onnx/tensors.h"
#include "core/onnx/wire.h"
#include "core/onnx/write_parsed.h"

namespace reverie {
namespace {

namespace fs = std::filesystem;

void copy_aside(const fs::path& from, const fs::path& to) {
  AsideFile aside(to.string());
  std::error_code error;
  fs::copy_file(from, aside.temporary(), fs::copy_options::overwrite_existing, error);
  if (error) throw InputError("{}: cannot be written: {}", to.string(), error.message());
  aside.commit();
}

bool same_content(const fs::path& a, const fs::path& b) {
  constexpr int64_t kPiece = 1 << 20;
  const proto::InputFile first(a), second(b);
  if (first.size() != second.size()) return false;
  std::vector<std::byte> piece(kPiece), other(kPiece);
  for (int64_t at = 0; at < first.size(); at += kPiece) {
    const auto bytes = static_cast<size_t>(std::min(kPiece, first.size() - at));
    piece.resize(bytes);
    other.resize(bytes);
    first.read(at, piece);
    second.read(at, other);
    if (piece != other) return false;
  }
  return true;
}

/// Files of weights that get other names, by the old ones.
using Renamed = std::map<std::string, std::string>;

/// Copies the files of weights that are not there.
Renamed copy_weights(const fs::path& from, const ModelInfo& info, const fs::path& to) {
  std::error_code none;
  Renamed renamed;
  proto::DataFileNames names(to);
  for (const std::string& location : info.external_files) {
    const fs::path source = from.parent_path() / location;
    fs::path data = to.parent_path() / location;
    if (fs::equivalent(source, data, none)) continue;
    if (file_exists(data.string())) {
      if (same_content(source, data)) continue;
      data = names.next();
      renamed[location] = data.filename().string();
    }
    if (!data.parent_path().empty()) fs::create_directories(data.parent_path(), none);
    copy_aside(source, data);
  }
  return renamed;
}

/// Writes the model in order, with its weights in files of other names and what `change` makes of
/// it; all else as it stands.
void write_in_order(const fs::path& from, const Renamed& renamed, const fs::path& to,
                    const std::function<void(onnx::ModelProto&)>& change = {}) {
  const proto::InputFile file(from);
  onnx::ModelProto model = with_context(from.string(), [&] { return proto::parse_model(file); });
  proto::put_in_order(&model);
  proto::visit_tensors(&model, [&](onnx::TensorProto* tensor) {
    const auto other = renamed.find(proto::location_of(*tensor));
    if (other == renamed.end()) return;
    for (auto& entry : *tensor->mutable_external_data())
      if (entry.key() == "location") entry.set_value(other->second);
  });
  if (change) change(model);
  proto::PendingFile written(to);
  proto::write_parsed(model, file, to, written.stream());
  written.finish();
  written.commit();
}

}  // namespace

void copy_model(const fs::path& from, const ModelInfo& info, const fs::path& to) {
  std::error_code none;
  if (fs::equivalent(from, to, none)) return;
  const Renamed renamed = copy_weights(from, info, to);
  if (renamed.empty() && info.is_in_order)
    copy_aside(from, to);
  else
    write_in_order(from, renamed, to);
}

void copy_model(const fs::path& from, const ModelInfo& info, const fs::path& to,
                const ToldOfNodes& told) {
  write_in_order(from, copy_weights(from, info, to), to, [&](onnx::ModelProto& model) {
    for (onnx::NodeProto& node : *model.mutable_graph()->mutable_node()) {
      const auto known = told.values.find(proto::name_or_output(node));
      proto::set_note(told.key, known == told.values.end() ? "" : known->second, &node);
    }
  });
}

}  // namespace reverie
