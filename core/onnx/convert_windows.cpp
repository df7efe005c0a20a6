#include <algorithm>
#include <unordered_map>

#include "core/base/error.h"
#include "core/onnx/auto_pad.h"
#include "core/onnx/convert.h"

namespace reverie::proto {
namespace {

/// `auto_pad` turned into `pads`, whatever the ceil_mode.
void resolve_auto_pad(Source& source, std::span<const int64_t> kernel) {
  const std::string mode = source.attributes.text("auto_pad", "NOTSET");
  source.attributes.erase("auto_pad");
  if (mode == "NOTSET") return;
  if (mode != "VALID" && mode != "SAME_UPPER" && mode != "SAME_LOWER")
    throw InputError("auto_pad '{}' is unknown", mode);
  const size_t rank = kernel.size();
  std::vector<int64_t> pads(2 * rank, 0);
  const std::vector<int64_t> ones(rank, 1);
  const auto strides = source.attributes.integers("strides", ones);
  const auto dilations = source.attributes.integers("dilations", ones);
  const Shape& x = source.type(0).shape;
  if (x.size() != rank + 2 || strides.size() != rank || dilations.size() != rank ||
      !are_usual(kernel, 1) || !are_usual(strides, 1) || !are_usual(dilations, 1))
    throw InputError("its window does not fit a tensor of {}", to_string(x));
  const bool is_same = mode != "VALID";
  if (is_same)
    pads = same_pads(std::span(x).subspan(2), kernel, strides, dilations, mode == "SAME_UPPER");
  source.attributes.set("pads", std::move(pads));
  if (is_same) source.attributes.set("ceil_mode", int64_t{0});
}

std::optional<Values> convolution(Source& source, size_t filter) {
  resolve_auto_pad(source, take_kernel(source, filter));
  source.attributes.erase("ceil_mode");
  return convert_as_is(source);
}

std::optional<Values> conv(Source& source) { return convolution(source, 1); }
std::optional<Values> quantized_conv(Source& source) { return convolution(source, 3); }

/// Gaps between the elements of a window, which pools other than MaxPool got in newer opsets and
/// the table does not know.
void leave_out_dilations(Source& source) {
  const size_t rank = source.attributes.integers("kernel_shape").size();
  source.leave_out("dilations", std::vector<int64_t>(rank, 1));
}

std::optional<Values> lp_pool(Source& source) {
  leave_out_dilations(source);
  resolve_auto_pad(source, source.attributes.integers("kernel_shape"));
  source.leave_out("ceil_mode", int64_t{0});
  return convert_as_is(source);
}

std::optional<Values> pool(Source& source) {
  if (source.wants_output(1)) return std::nullopt;
  resolve_auto_pad(source, source.attributes.integers("kernel_shape"));
  source.attributes.erase("storage_order");  // it orders the second output only
  return convert_as_is(source);
}

std::optional<Values> average_pool(Source& source) {
  leave_out_dilations(source);
  return source.attributes.has("dilations") ? std::nullopt : pool(source);
}

/// Before opset 14 further outputs mean training mode, whether or not somebody reads them.
bool is_training(const Source& source) {
  if (source.opset >= 14) return source.attributes.integer("training_mode", 0) != 0;
  const auto& outputs = source.node.output();
  return std::any_of(outputs.begin(), outputs.end(), [&](const std::string& name) {
    return &name != &outputs[0] && !name.empty();
  });
}

std::optional<Values> batch_normalization(Source& source) {
  for (int i = 1; i < source.node.output_size(); ++i)
    if (source.wants_output(i)) return std::nullopt;
  if (is_training(source)) return std::nullopt;
  for (size_t i = 1; i < source.inputs.size();
       ++i)  // since opset 14 statistics may be wider than the data
    if (source.has_input(i) && source.type(i).dtype != source.type(0).dtype) return std::nullopt;
  if (source.attributes.integer("spatial", 1) == 0) return std::nullopt;
  for (const char* name : {"training_mode", "spatial", "momentum"}) source.attributes.erase(name);
  return convert_as_is(source);
}

std::optional<Values> layer_normalization(Source& source) {
  if (source.wants_output(1) || source.wants_output(2)) return std::nullopt;
  if (source.attributes.integer("stash_type", 1) != 1) return std::nullopt;
  source.attributes.erase("stash_type");
  return convert_as_is(source);
}

}  // namespace

bool are_usual(std::span<const int64_t> numbers, int64_t least) {
  constexpr int64_t kMost = int64_t{1} << 30;
  return std::ranges::all_of(numbers,
                             [&](int64_t number) { return number >= least && number <= kMost; });
}

Shape take_kernel(Source& source, size_t input) {
  if (!source.has_input(input)) throw InputError("has no filter");
  const Shape& filter = source.type(input).shape;
  if (filter.size() < 3) throw InputError("a filter of {} is too flat", to_string(filter));
  const Shape kernel(filter.begin() + 2, filter.end());
  if (source.attributes.integers("kernel_shape", kernel) != kernel)
    throw InputError("kernel_shape {} differs from the filter {}",
                     to_string(*source.attributes.find("kernel_shape")), to_string(filter));
  source.attributes.erase("kernel_shape");
  return kernel;
}

Converter window_rule(std::string_view op) {
  static const std::unordered_map<std::string_view, Converter> rules = {
      {"Conv", conv},
      {"ConvInteger", conv},
      {"QLinearConv", quantized_conv},
      {"MaxPool", pool},
      {"AveragePool", average_pool},
      {"LpPool", lp_pool},
      {"BatchNormalization", batch_normalization},
      {"LayerNormalization", layer_normalization}};
  const auto at = rules.find(op);
  return at == rules.end() ? nullptr : at->second;
}

}  // namespace reverie::proto
