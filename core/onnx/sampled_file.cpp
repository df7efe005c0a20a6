#include "core/onnx/sampled_file.h"

#include <algorithm>
#include <set>

#include "core/base/error.h"
#include "core/onnx/importer.h"
#include "core/onnx/symbols.h"

namespace reverie::proto {
namespace {

constexpr size_t kMostAlone = 6;  // symbols that are sampled by themselves

/// Makes the samples of one file.
class Sampler {
 public:
  Sampler(ModelFile file, const ImportOptions& options)
      : options_(options), file_(std::move(file)) {}

  ImportedModel run() {
    Observations seen;
    model_ = Importer(file_.model, file_.files).run(options_, &seen);
    for (const auto& [symbol, extent] : bound_extents(model_))
      if (is_carried(symbol)) carried_.insert(symbol);
    if (carried_.empty()) return std::move(model_);
    first_ = seen;
    const Extents bound = bound_extents(model_);
    keep(model_.graph, std::move(seen), bound);
    sample_all(bound);
    if (graphs_.size() == 1) return std::move(model_);
    model_.graph = *Graph::of_samples(graphs_);
    model_.file = finished();
    return std::move(model_);
  }

 private:
  bool is_carried(const std::string& symbol) const {
    return options_.carried == ImportOptions::Carried::kAll ||
           model_.info.data_extents.contains(symbol);
  }

  void sample_all(const Extents& bound) {
    for (const Extents& extents : other_extents(bound, carried_, false)) sample(extents);
    const bool all_move = graphs_.size() > 1;
    if (!all_move)
      for (const Extents& extents : other_extents(bound, carried_, true)) sample(extents);
    if (graphs_.size() == 1) sample_fitted(bound);
    std::map<int64_t, std::set<std::string>> by_extent;
    for (const std::string& symbol : carried_) by_extent[bound.at(symbol)].insert(symbol);
    if (carried_.size() == 1 || by_extent.size() > kMostAlone) return;
    for (const auto& [extent, symbols] : by_extent) {
      if (symbols.size() <= kMostAlone)
        for (const std::string& symbol : symbols) sample_alone(bound, {symbol});
      if (symbols.size() > 1 && !all_move) sample_alone(bound, symbols);
    }
  }

  void sample_fitted(const Extents& bound) {
    const auto bind = [&](const std::vector<std::string>& dims) { return extents_with(dims); };
    for (const Extents& extents :
         fitted_extents(bound, carried_, other_extents(bound, carried_, false), bind))
      sample(extents);
  }

  void sample_alone(const Extents& bound, const std::set<std::string>& symbols) {
    const std::vector<Extents> others = other_extents(bound, symbols, true);
    std::any_of(others.begin(), others.end(),
                [&](const Extents& extents) { return sample(extents); });
  }

  std::optional<Extents> extents_with(const std::vector<std::string>& dims) {
    try {
      return bound_extents(Importer(file_.model, file_.files).run(options_with(model_, dims)));
    } catch (const InputError&) {
      return std::nullopt;
    }
  }

  bool sample(const Extents& extents) {
    if (!tried_.insert(extents).second) return false;
    try {
      Observations seen;
      const ImportedModel other =
          Importer(file_.model, file_.files).run(options_at(model_, extents), &seen, &first_);
      const Graph pair[] = {model_.graph, other.graph};
      if (other.untouched.size() != model_.untouched.size() || !Graph::of_samples(pair))
        return false;
      keep(other.graph, std::move(seen), extents);
      return true;
    } catch (const InputError&) {
      return false;  // it has no such extents
    }
  }

  void keep(const Graph& graph, Observations seen, const Extents& extents) {
    tried_.insert(extents);
    graphs_.push_back(graph);
    seen_.push_back(std::move(seen));
    extents_.push_back(extents);
  }

  std::shared_ptr<const SampledFile> finished() {
    std::vector<std::string> inputs;
    for (const NodeId input : model_.graph.inputs())
      inputs.push_back(model_.graph.input_name(input));
    auto file = std::make_shared<SampledFile>(std::move(file_), std::move(inputs));
    for (size_t i = 0; i < seen_.size(); ++i)
      file->add(std::move(seen_[i]), std::move(extents_[i]));
    file->index();
    return file;
  }

  const ImportOptions& options_;
  ModelFile file_;
  ImportedModel model_;
  Observations first_;
  std::set<std::string> carried_;
  std::set<Extents> tried_;
  std::vector<Graph> graphs_;
  std::vector<Observations> seen_;
  std::vector<Extents> extents_;
};

}  // namespace

void SampledFile::add(Observations seen, Extents extents) {
  seen_.push_back(std::move(seen));
  extents_.push_back(std::move(extents));
}

void SampledFile::index() {
  file_.model.mutable_graph()->clear_initializer();
  for (const auto& node : file_.model.graph().node())
    for (const auto& output : node.output()) {
      producers_[output] = &node;
      if (!constant_depends(output)) continue;
      for (int64_t i = 0; i < first(output)->type.elements(); ++i) {
        const Sampled values = elements(output, i);
        const bool varies =
            std::ranges::any_of(values, [&](int64_t value) { return value != values[0]; });
        if (varies) elements_.try_emplace(values, ConstantElement{output, i});
      }
    }
}

const Observed* SampledFile::first(const std::string& name) const {
  const auto at = seen_.front().find(name);
  return at == seen_.front().end() ? nullptr : &at->second;
}

const onnx::NodeProto* SampledFile::producer(const std::string& name) const {
  const auto at = producers_.find(name);
  return at == producers_.end() ? nullptr : at->second;
}

bool SampledFile::constant_depends(const std::string& name) const {
  const Observed* seen_first = first(name);
  if (seen_first == nullptr || seen_first->weight == nullptr || seen_first->is_initializer)
    return false;
  return std::ranges::any_of(seen_, [&](const Observations& seen) {
    const auto at = seen.find(name);
    return at == seen.end() || at->second.weight == nullptr ||
           at->second.type != seen_first->type ||
           at->second.weight->identity() != seen_first->weight->identity();
  });
}

bool SampledFile::has_type(const std::string& name, const TensorType& type) const {
  for (size_t sample = 0; sample < seen_.size(); ++sample) {
    const auto at = seen_[sample].find(name);
    if (at == seen_[sample].end() || at->second.type != type.at(sample)) return false;
  }
  return true;
}

bool SampledFile::type_depends(const std::string& name) const {
  return first(name) != nullptr && !has_type(name, first(name)->type);
}

Sampled SampledFile::extents_of(const std::string& name, int axis) const {
  Sampled extents;
  for (const Observations& seen : seen_) {
    const auto at = seen.find(name);
    if (at == seen.end() || !at->second.type.known() || axis >= at->second.type.rank()) return {};
    extents.push_back(at->second.type.shape[static_cast<size_t>(axis)]);
  }
  return extents;
}

Sampled SampledFile::elements(const std::string& name, int64_t index) const {
  Sampled elements;
  for (const Observations& seen : seen_) {
    const auto at = seen.find(name);
    if (at == seen.end() || at->second.weight == nullptr || at->second.is_initializer) return {};
    const TensorType& type = at->second.type;
    if (type.dtype != DType::kInt64 || index >= type.elements() ||
        type.elements() > Weight::kSmallWeight)
      return {};
    elements.push_back(at->second.weight->materialize().to_integers()[static_cast<size_t>(index)]);
  }
  return elements;
}

std::optional<InputAxis> SampledFile::input_axis(const Sampled& wanted) const {
  for (const std::string& input : inputs_) {
    const Observed* seen = first(input);
    for (int axis = 0; seen != nullptr && axis < seen->type.rank(); ++axis)
      if (extents_of(input, axis) == wanted) return InputAxis{input, axis};
  }
  return std::nullopt;
}

std::optional<ConstantElement> SampledFile::constant_element(const Sampled& values) const {
  const auto at = elements_.find(values);
  return at == elements_.end() ? std::nullopt : std::optional(at->second);
}

std::vector<Sampled> SampledFile::varying_elements() const {
  std::vector<Sampled> values;
  for (const auto& [value, element] : elements_) values.push_back(value);
  return values;
}

ImportedModel import_samples(ModelFile file, const ImportOptions& options) {
  return Sampler(std::move(file), options).run();
}

}  // namespace reverie::proto
