#include "core/onnx/observed_file.h"

#include <algorithm>
#include <map>

#include "core/base/error.h"
#include "core/onnx/importer.h"
#include "core/onnx/read_model.h"
#include "core/onnx/symbols.h"

namespace reverie::proto {
namespace {

using Extents = std::map<std::string, int64_t>;

/// Another extent for the symbol of a number.
using OtherExtent = int64_t (*)(int64_t bound, int64_t symbol);
/// Others for every symbol first; then equal where they were, for symbols that have to be.
constexpr OtherExtent kOthers[] = {
    [](int64_t bound, int64_t symbol) { return bound + 3 + 2 * symbol; },
    [](int64_t bound, int64_t symbol) { return bound * (2 + symbol); },
    [](int64_t bound, int64_t symbol) { return std::max<int64_t>(bound - 1 - symbol, 2); },
    [](int64_t bound, int64_t) { return bound + 3; },
    [](int64_t bound, int64_t) { return 2 * bound; },
    [](int64_t bound, int64_t) { return std::max<int64_t>(bound / 2, 2); },
};
constexpr size_t kBindings = 3;

Extents others(const Extents& bound, OtherExtent other) {
  Extents result;
  int64_t symbol = 0;
  for (const auto& [name, extent] : bound) result[name] = other(extent, symbol++);
  return result;
}

bool differ_everywhere(const Extents& a, const Extents& b) {
  return std::equal(a.begin(), a.end(), b.begin(),
                    [](const auto& x, const auto& y) { return x.second != y.second; });
}

}  // namespace

ObservedFile::ObservedFile(const std::filesystem::path& path, const ImportedModel& model)
    : file_(read_model(path)) {
  for (const auto& node : file_.model.graph().node())
    for (const auto& output : node.output()) producers_[output] = &node;
  for (const NodeId input : model.graph.inputs()) inputs_.push_back(model.graph.input_name(input));
  const Extents bound = bound_extents(model);
  const auto observe = [&](const Extents& extents) {
    Observations seen;
    Importer importer(file_.model, file_.files);
    const ImportedModel other = importer.run(options_at(model, extents), &seen);
    if (other.untouched.size() <= model.untouched.size()) seen_.push_back(std::move(seen));
  };
  if (bound.empty()) return;
  observe(bound);
  for (const OtherExtent other : kOthers) {
    const Extents extents = others(bound, other);
    if (seen_.empty() || seen_.size() == kBindings) break;
    if (!differ_everywhere(bound, extents)) continue;
    try {
      observe(extents);
    } catch (const InputError&) {
      continue;  // it has no such extents
    }
  }
  file_.model.mutable_graph()->clear_initializer();
}

const Observed* ObservedFile::bound(const std::string& name) const {
  const auto at = seen_.front().find(name);
  return at == seen_.front().end() ? nullptr : &at->second;
}

const onnx::NodeProto* ObservedFile::producer(const std::string& name) const {
  const auto at = producers_.find(name);
  return at == producers_.end() ? nullptr : at->second;
}

bool ObservedFile::constant_depends(const std::string& name) const {
  const Observed* first = bound(name);
  if (first == nullptr || first->weight == nullptr || first->is_initializer) return false;
  return std::ranges::any_of(seen_, [&](const Observations& seen) {
    const auto at = seen.find(name);
    return at == seen.end() || at->second.weight == nullptr || at->second.type != first->type ||
           at->second.weight->identity() != first->weight->identity();
  });
}

bool ObservedFile::type_depends(const std::string& name) const {
  const Observed* first = bound(name);
  if (first == nullptr) return false;
  return std::ranges::any_of(seen_, [&](const Observations& seen) {
    const auto at = seen.find(name);
    return at == seen.end() || at->second.type != first->type;
  });
}

std::vector<int64_t> ObservedFile::extents(const std::string& name, int axis) const {
  std::vector<int64_t> extents;
  for (const Observations& seen : seen_) {
    const auto at = seen.find(name);
    if (at == seen.end() || !at->second.type.known() || axis >= at->second.type.rank()) return {};
    extents.push_back(at->second.type.shape[static_cast<size_t>(axis)]);
  }
  return extents;
}

std::vector<int64_t> ObservedFile::elements(const std::string& name, int64_t index) const {
  std::vector<int64_t> elements;
  for (const Observations& seen : seen_) {
    const auto at = seen.find(name);
    if (at == seen.end() || at->second.weight == nullptr || at->second.is_initializer) return {};
    const TensorType& type = at->second.type;
    if (type.dtype != DType::kInt64 || index >= type.elements()) return {};
    elements.push_back(at->second.weight->materialize().to_integers()[static_cast<size_t>(index)]);
  }
  return elements;
}

std::optional<InputAxis> ObservedFile::input_axis(const std::vector<int64_t>& wanted) const {
  for (const std::string& input : inputs_) {
    const Observed* seen = bound(input);
    for (int axis = 0; seen != nullptr && axis < seen->type.rank(); ++axis)
      if (extents(input, axis) == wanted) return InputAxis{input, axis};
  }
  return std::nullopt;
}

}  // namespace reverie::proto
