#include "core/onnx/save.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/ir/formula.h"
#include "core/onnx/lower.h"
#include "core/onnx/library.h"
#include "core/onnx/spell_out.h"
#include "core/onnx/tensors.h"

namespace reverie::proto {
namespace {
namespace fs = std::filesystem;

/// A file that is removed unless it gets its name.
class PendingFile {
 public:
  explicit PendingFile(const fs::path& path)
      : path_(path), file_(path.string()), stream_(file_.temporary(), std::ios::binary) {
    if (!stream_) throw InputError("{}: cannot be written: {}", path.string(), std::strerror(errno));
  }

  std::ofstream& stream() { return stream_; }
  std::string name() const { return path_.filename().string(); }
  std::string temporary_name() const { return fs::path(file_.temporary()).filename().string(); }

  void finish() {
    stream_.close();
    if (!stream_) throw InputError("{}: cannot be written: {}", path_.string(), std::strerror(errno));
  }
  void commit() { file_.commit(); }

 private:
  fs::path path_;
  AsideFile file_;
  std::ofstream stream_;
};

/// Weights smaller than this stay in the model even when others go outside.
constexpr int64_t kSmallestExternal = 1024;
constexpr int64_t kAlignment = 64;

void set_entry(onnx::TensorProto* tensor, const std::string& key, const std::string& value) {
  auto* entry = tensor->add_external_data();
  entry->set_key(key);
  entry->set_value(value);
}

void append_external(const StoredWeight& stored, PendingFile& file, onnx::TensorProto* out) {
  const TensorType& type = stored.weight->type();
  const Tensor tensor = stored.weight->materialize();
  int64_t offset = file.stream().tellp();
  while (offset % kAlignment != 0) {
    file.stream().put('\0');
    ++offset;
  }
  const auto bytes = tensor.bytes();
  file.stream().write(reinterpret_cast<const char*>(bytes.data()),
                      static_cast<std::streamsize>(bytes.size()));
  out->set_name(stored.name);
  out->set_data_type(onnx_type_of(type.dtype));
  for (const int64_t extent : type.shape) out->add_dims(extent);
  out->set_data_location(onnx::TensorProto::EXTERNAL);
  set_entry(out, "location", file.temporary_name());
  set_entry(out, "offset", std::to_string(offset));
  set_entry(out, "length", std::to_string(type.bytes()));
}

void set_location(const std::string& name, onnx::GraphProto* graph) {
  for (auto& tensor : *graph->mutable_initializer())
    if (tensor.data_location() == onnx::TensorProto::EXTERNAL)
      tensor.mutable_external_data(0)->set_value(name);
}

/// What full shape inference objects to; `model` lacks the large weights' data. Nothing where it crashes
/// on opaque nodes, which were let pass so, too.
std::string shape_verdict(onnx::ModelProto model, bool has_opaque_nodes) {
  const bool strict = !has_opaque_nodes;
  try {
    return infer_shapes(&model, {.check_types = true, .strict = strict, .values = true}).objection;
  } catch (const LibraryCrash&) {
    if (has_opaque_nodes) return {};
    throw;
  }
}

/// What this program writes itself is valid, so that an objection is its own bug. Opaque nodes stand
/// as they came, which may be wrong.
void require_accepted(const std::string& objection, const ModelSkeleton& skeleton,
                      const fs::path& path) {
  if (skeleton.has_opaque_nodes && !objection.empty())
    throw InputError("{}: the model holds nodes that ONNX rejects: {}", path.string(), objection);
  if (skeleton.is_symbolic && !objection.empty())
    throw InputError("{}: the model does not hold for symbolic dimensions: {}", path.string(), objection);
  REVERIE_CHECK(objection.empty(), "ONNX rejects the exported model: {}", objection);
}

void declare_weights(const std::vector<StoredWeight>& weights, onnx::GraphProto* graph) {
  for (const StoredWeight& stored : weights) {
    if (stored.weight->is_small()) {
      write_tensor(stored.weight->materialize(), stored.name, graph->add_initializer());
    } else {
      auto* tensor = graph->add_initializer();
      tensor->set_name(stored.name);
      tensor->set_data_type(onnx_type_of(stored.weight->type().dtype));
      for (const int64_t extent : stored.weight->type().shape) tensor->add_dims(extent);
    }
  }
}

int64_t total_bytes(const std::vector<StoredWeight>& weights) {
  int64_t total = 0;
  for (const StoredWeight& stored : weights) total += stored.weight->type().bytes();
  return total;
}

}  // namespace

void save(ModelSkeleton skeleton, const fs::path& path, int64_t max_inline_bytes) {
  onnx::ModelProto& model = skeleton.model;
  onnx::ModelProto declared = model;
  declare_weights(skeleton.weights, declared.mutable_graph());
  require_accepted(shape_verdict(std::move(declared), skeleton.has_opaque_nodes), skeleton, path);
  PendingFile file(path);
  std::optional<PendingFile> data;
  const auto rest = static_cast<int64_t>(model.ByteSizeLong());
  if (rest + total_bytes(skeleton.weights) > max_inline_bytes) data.emplace(path.string() + ".data");
  onnx::GraphProto* graph = model.mutable_graph();
  for (const StoredWeight& stored : skeleton.weights) {
    if (data && stored.weight->type().bytes() >= kSmallestExternal)
      append_external(stored, *data, graph->add_initializer());
    else
      write_tensor(stored.weight->materialize(), stored.name, graph->add_initializer());
    if (is_formula(*stored.weight))
      graph->mutable_initializer()->rbegin()->set_doc_string(kFormulaMark);
  }
  if (data) data->finish();
  require_accepted(check_model(&model, path.parent_path()), skeleton, path);
  if (data) set_location(data->name(), graph);
  serialize(model, path.string(), file.stream());
  file.finish();
  if (data) data->commit();
  file.commit();
}

}  // namespace reverie::proto

namespace reverie {

void export_onnx(const Graph& graph, const ModelInfo& info, const std::filesystem::path& path,
                 const ExportOptions& options) {
  proto::ModelSkeleton skeleton = with_context(path.string(), [&] {
    const proto::OpsetRange range = proto::opset_range(graph, info);
    const bool fold = options.fold_constants;
    const Graph spelled = proto::spell_out(lower(graph, fold), range, fold);
    return proto::Exporter(spelled, info, proto::common_opset(spelled, range), options.symbols)
        .run();
  });
  proto::save(std::move(skeleton), path, options.max_inline_bytes);
}

}  // namespace reverie
