#include "core/onnx/save.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>

#include "core/base/error.h"
#include "core/ir/formula.h"
#include "core/onnx/copy.h"
#include "core/onnx/data_files.h"
#include "core/onnx/library.h"
#include "core/onnx/lower.h"
#include "core/onnx/opset.h"
#include "core/onnx/pending_file.h"
#include "core/onnx/spell_out.h"
#include "core/onnx/tensors.h"
#include "core/onnx/unchanged.h"
#include "core/onnx/unfold.h"
#include "core/onnx/wire.h"

namespace reverie::proto {
namespace {
namespace fs = std::filesystem;

/// Weights smaller than this stay in the model even when others go outside.
constexpr int64_t kSmallestExternal = 1024;
constexpr int64_t kAlignment = 64;

bool is_large(const Weight& weight) { return weight.type().bytes() >= kSmallestExternal; }

int64_t aligned(int64_t offset) { return (offset + kAlignment - 1) / kAlignment * kAlignment; }

bool is_zero(std::span<const std::byte> bytes) {
  return bytes[0] == std::byte{0} &&
         std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
}

/// The weights one after the other. Pieces of noughts become holes, which take no room on the disk.
void write_data(const std::vector<LargeTensor>& tensors, PendingFile& file) {
  int64_t end = 0;
  for (const LargeTensor& tensor : tensors) {
    end = aligned(end);
    tensor.weight->visit_bytes([&](std::span<const std::byte> piece) {
      file.stream().seekp(end);
      if (!is_zero(piece))
        file.stream().write(reinterpret_cast<const char*>(piece.data()),
                            static_cast<std::streamsize>(piece.size()));
      end += static_cast<int64_t>(piece.size());
    });
  }
  file.finish();
  fs::resize_file(file.temporary(), static_cast<uintmax_t>(end));
}

/// Leaves of opaque nodes what the graph around them has to fit.
void hide_opaque_nodes(const std::vector<OpaqueNode>& nodes, onnx::ModelProto* model) {
  constexpr char kDomain[] = "reverie.opaque";
  auto* import = model->add_opset_import();
  import->set_domain(kDomain);
  import->set_version(1);
  model->clear_functions();
  for (const OpaqueNode& opaque : nodes) {
    onnx::NodeProto* node = model->mutable_graph()->mutable_node(opaque.place);
    node->set_domain(kDomain);
    node->clear_attribute();
    for (size_t i = 0; i < opaque.outputs.size(); ++i) {
      if (!opaque.outputs[i].known()) continue;
      auto* value = model->mutable_graph()->add_value_info();
      value->set_name(node->output(static_cast<int>(i)));
      set_tensor_type(opaque.outputs[i], value->mutable_type());
    }
  }
}

/// Which output of an opaque node has another type than ONNX infers.
std::string contradiction(const OpaqueNode& opaque, const onnx::ModelProto& model) {
  const onnx::NodeProto& node = model.graph().node(opaque.place);
  const std::vector<onnx::TypeProto> inferred = infer_outputs(node, opaque.inputs, model, false);
  for (size_t i = 0; i < std::min(inferred.size(), opaque.outputs.size()); ++i) {
    const auto type = tensor_type(inferred[i]);
    if (type && opaque.outputs[i].known() && *type != opaque.outputs[i])
      return fmt::format("output {} of {} is {}, not {}", i, described(node), to_string(*type),
                         to_string(opaque.outputs[i]));
  }
  return {};
}

/// What full shape inference objects to in a model; nothing where it crashes on opaque nodes.
std::string objection_to_shapes(onnx::ModelProto* model, bool has_opaque_nodes) {
  try {
    return infer_shapes(model, {.check_types = true, .strict = !has_opaque_nodes, .values = true})
        .objection;
  } catch (const LibraryCrash&) {
    if (has_opaque_nodes) return {};
    throw;
  }
}

/// The same for a model without the large weights' data; not what it objects to in opaque nodes by
/// themselves, which it does whatever is around them.
std::string shape_verdict(onnx::ModelProto model, const std::vector<OpaqueNode>& opaque_nodes) {
  std::string objection = objection_to_shapes(&model, !opaque_nodes.empty());
  if (objection.empty() || opaque_nodes.empty()) return objection;
  for (const OpaqueNode& opaque : opaque_nodes)
    if (std::string wrong = contradiction(opaque, model); !wrong.empty()) return wrong;
  hide_opaque_nodes(opaque_nodes, &model);
  return objection_to_shapes(&model, true);
}

/// What this program writes itself is valid, so that an objection is its own bug. Opaque nodes
/// stand as they came, which may be wrong.
void require_accepted(const std::string& objection, const ModelSkeleton& skeleton,
                      const fs::path& path) {
  if (!skeleton.opaque_nodes.empty() && !objection.empty())
    throw InputError("{}: the model holds nodes that ONNX rejects: {}", path.string(), objection);
  if (skeleton.is_symbolic && !objection.empty())
    throw InputError("{}: the model does not hold for symbolic dimensions: {}", path.string(),
                     objection);
  REVERIE_CHECK(objection.empty(), "ONNX rejects the exported model: {}", objection);
}

/// What inference may look at comes with its value.
void declare_weights(const std::vector<StoredWeight>& weights, onnx::GraphProto* graph) {
  constexpr int64_t kLargestValue = 64 << 10;  // bytes
  for (const auto& [name, weight] : weights) {
    if (weight->is_small() && weight->type().bytes() <= kLargestValue)
      write_tensor(weight->materialize(), name, graph->add_initializer());
    else
      write_type(weight->type(), name, graph->add_initializer());
  }
}

/// Whether a reader has to be told that its value is part of what the graph means.
bool is_known_though_large(const Weight& weight) {
  const bool is_large = weight.type().elements() > Weight::kSmallWeight;
  return is_formula(weight) || (is_large && weight.is_small() && is_floating(weight.type().dtype));
}

/// Puts small weights into the graph and returns the others.
std::vector<LargeTensor> add_weights(const std::vector<StoredWeight>& weights,
                                     onnx::GraphProto* graph) {
  std::vector<LargeTensor> large;
  for (const auto& [name, weight] : weights) {
    onnx::TensorProto tensor;
    if (is_large(*weight))
      write_type(weight->type(), name, &tensor);
    else
      write_tensor(weight->materialize(), name, &tensor);
    if (is_known_though_large(*weight)) tensor.set_doc_string(kFormulaMark);
    if (is_large(*weight))
      large.push_back({std::move(tensor), weight});
    else
      *graph->add_initializer() = std::move(tensor);
  }
  return large;
}

int64_t total_bytes(const std::vector<LargeTensor>& tensors) {
  int64_t total = 0;
  for (const LargeTensor& tensor : tensors) total += tensor.weight->type().bytes();
  return total;
}

/// The graph with large tensors whose data lie in `location`, one after the other.
void add_external(const std::vector<LargeTensor>& tensors, const std::string& location,
                  onnx::GraphProto* graph) {
  int64_t offset = 0;
  for (const LargeTensor& tensor : tensors) {
    const int64_t length = tensor.weight->type().bytes();
    onnx::TensorProto* added = graph->add_initializer();
    *added = tensor.declaration;
    set_external(location, offset, length, added);
    offset = aligned(offset + length);
  }
}

/// Checked as if the large tensors' data lay in `file`. What came as it is need not please the
/// checker.
std::string verdict_on(const ModelSkeleton& skeleton, const std::vector<LargeTensor>& tensors,
                       const fs::path& file) {
  onnx::ModelProto model = skeleton.model;
  add_external(tensors, file.filename().string(), model.mutable_graph());
  const std::string objection = check_model(&model, file.parent_path());
  const bool has_others = !skeleton.opaque_nodes.empty() || model.functions_size() > 0;
  if (objection.empty() || !has_others) return objection;
  hide_opaque_nodes(skeleton.opaque_nodes, &model);
  return check_model(&model, file.parent_path());
}

}  // namespace

void save(ModelSkeleton skeleton, const fs::path& path, int64_t max_inline_bytes) {
  onnx::ModelProto& model = skeleton.model;
  onnx::ModelProto declared = model;
  declare_weights(skeleton.weights, declared.mutable_graph());
  require_accepted(shape_verdict(std::move(declared), skeleton.opaque_nodes), skeleton, path);
  PendingFile file(path);
  std::vector<LargeTensor> large = add_weights(skeleton.weights, model.mutable_graph());
  require_accepted(verdict_on(skeleton, large, file.temporary()), skeleton, path);
  std::optional<PendingFile> data;
  if (static_cast<int64_t>(model.ByteSizeLong()) + total_bytes(large) > max_inline_bytes) {
    data.emplace(DataFileNames(path).next());
    write_data(large, *data);
    add_external(large, data->path().filename().string(), model.mutable_graph());
    large.clear();
  }
  write_model(std::move(model), large, path, file.stream());
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
    const Graph spelled = proto::spell_out(lower(graph.sample(0), fold), range, fold);
    const Graph bounded = unfolded(spelled, options.max_weight_bytes);
    const bool can_be_written = proto::find_common_language(bounded, range).has_value();
    const Graph& written = can_be_written ? bounded : spelled;
    return proto::Exporter(written, info, proto::common_language(written, range), options.symbols)
        .run();
  });
  if (!options.original.empty() && proto::is_unchanged(skeleton, options.original))
    return copy_model(options.original, info, path);
  proto::save(std::move(skeleton), path, options.max_inline_bytes);
}

}  // namespace reverie
