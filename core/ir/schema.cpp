#include "core/ir/schema.h"

#include <algorithm>
#include <unordered_map>

#include "core/base/error.h"
#include "core/ir/ops.h"

namespace reverie {
namespace {

using Infer = decltype(OpSchema::infer);

/// Refuses integers with which arithmetic on extents could overflow.
void require_sane_integers(const Attributes& attributes) {
  constexpr int64_t kLimit = int64_t{1} << 40;
  const auto check = [](const std::string& name, int64_t value) {
    if (value < -kLimit || value > kLimit)
      throw InputError("attribute '{}' holds {}, which is out of bounds", name, value);
  };
  for (const auto& [name, value] : attributes.entries()) {
    if (const auto* one = std::get_if<int64_t>(&value)) check(name, *one);
    if (const auto* list = std::get_if<std::vector<int64_t>>(&value))
      for (const int64_t each : *list) check(name, each);
  }
}

size_t samples_of(std::span<const TensorType> types, const Attributes& attributes) {
  size_t samples = attributes.samples();
  for (const TensorType& type : types) samples = std::max(samples, type.samples());
  return samples;
}

std::vector<TensorType> types_at(std::span<const TensorType> types, size_t sample) {
  std::vector<TensorType> result;
  for (const TensorType& type : types) result.push_back(type.at(sample));
  return result;
}

/// Infers sample by sample.
Infer at_every_sample(Infer infer) {
  return [infer = std::move(infer)](const OpContext& node) {
    const size_t samples = samples_of(node.inputs, node.attributes);
    if (samples == 1) return infer(node);
    std::vector<std::vector<TensorType>> outputs;  // by output and sample
    for (size_t sample = 0; sample < samples; ++sample) {
      const std::vector<TensorType> inputs = types_at(node.inputs, sample);
      const std::vector<TensorType> found = infer({inputs, {}, node.attributes.at(sample)});
      outputs.resize(std::max(outputs.size(), found.size()));
      for (size_t i = 0; i < found.size(); ++i) outputs[i].push_back(found[i]);
    }
    std::vector<TensorType> types;
    for (const std::vector<TensorType>& output : outputs) {
      if (output.size() != samples) throw InputError("has outputs that depend on extents");
      types.push_back(type_of_samples(output));
    }
    return types;
  };
}

/// What every row demands of inputs, attributes and results.
Infer guarded(Infer infer, int required) {
  return [infer = std::move(infer), required](const OpContext& node) {
    for (int i = 0; i < required; ++i)
      if (!node.has_input(static_cast<size_t>(i))) throw InputError("input {} is absent", i);
    require_sane_integers(node.attributes);
    std::vector<TensorType> outputs = infer(node);
    for (const TensorType& type : outputs) require_sane(type.shape);
    return outputs;
  };
}

std::vector<OpSchema> build_table() {
  std::vector<OpSchema> table;
  for (const auto family : {ops::special,
                            ops::unary_elementwise,
                            ops::binary_elementwise,
                            ops::linear,
                            ops::spatial,
                            ops::reduction,
                            ops::movement,
                            ops::shapes,
                            ops::image,
                            ops::resize,
                            ops::normalization,
                            ops::quantization,
                            ops::recurrent,
                            ops::further_elementwise,
                            ops::further_reductions,
                            ops::indexing,
                            ops::rearranging,
                            ops::further_linear,
                            ops::further_normalization,
                            ops::attention,
                            ops::fused}) {
    for (OpSchema& row : family()) {
      row.id = static_cast<int>(table.size());
      if (row.infer) row.infer = at_every_sample(guarded(std::move(row.infer), row.min_inputs));
      table.push_back(std::move(row));
    }
  }
  return table;
}

const std::vector<OpSchema>& table() {
  static const std::vector<OpSchema> rows = build_table();
  return rows;
}

}  // namespace

Attributes OpSchema::complete(Attributes attributes) const {
  for (const Attributes::Entry& entry : attributes.entries()) {
    const auto known = [&](const AttrSpec& spec) { return spec.name == entry.first; };
    if (std::none_of(this->attributes.begin(), this->attributes.end(), known))
      throw InputError("{} has no attribute '{}'", name, entry.first);
  }
  for (const AttrSpec& spec : this->attributes) {
    if (attributes.has(spec.name)) {
      if (spec.fallback && std::holds_alternative<double>(*spec.fallback))
        attributes.set(spec.name, attributes.number(spec.name));
      continue;
    }
    if (spec.fallback) {
      attributes.set(spec.name, *spec.fallback);
    } else if (!spec.optional) {
      throw InputError("{} needs attribute '{}'", name, spec.name);
    }
  }
  return attributes;
}

Attributes OpSchema::resolve(Attributes attributes, std::span<const TensorType> inputs) const {
  const size_t samples = samples_of(inputs, attributes);
  if (samples > 1) {
    std::vector<Attributes> resolved;
    for (size_t sample = 0; sample < samples; ++sample)
      resolved.push_back(resolve(attributes.at(sample), types_at(inputs, sample)));
    return Attributes::of_samples(resolved);
  }
  attributes = complete(std::move(attributes));
  const bool present = static_cast<int>(inputs.size()) >= min_inputs &&
                       std::all_of(inputs.begin(), inputs.begin() + min_inputs,
                                   [](const TensorType& type) { return type.known(); });
  if (normalize && present) normalize(attributes, inputs);
  return attributes;
}

const OpSchema* find_op(std::string_view name) {
  static const auto index = [] {
    std::unordered_map<std::string_view, const OpSchema*> map;
    for (const OpSchema& row : table()) map.emplace(row.name, &row);
    return map;
  }();
  const auto at = index.find(name);
  return at == index.end() ? nullptr : at->second;
}

const OpSchema& op_named(std::string_view name) {
  const OpSchema* row = find_op(name);
  REVERIE_CHECK(row != nullptr, "no operator '{}'", name);
  return *row;
}

std::span<const OpSchema> all_ops() { return table(); }

const OpSchema& input_op() {
  static const OpSchema& row = op_named("Input");
  return row;
}

const OpSchema& constant_op() {
  static const OpSchema& row = op_named("Constant");
  return row;
}

const OpSchema& opaque_op() {
  static const OpSchema& row = op_named("Opaque");
  return row;
}

}  // namespace reverie
