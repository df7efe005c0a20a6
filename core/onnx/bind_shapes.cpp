#include "core/onnx/bind_shapes.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "core/base/error.h"
#include "core/onnx/default_extents.h"
#include "core/onnx/newer_opsets.h"

namespace reverie::proto {
namespace {

struct Binding {
  std::string name;
  Shape shape;
};

Binding parse(const std::string& text) {
  const size_t equals = text.rfind('=');
  Binding binding;
  const auto malformed = [&] {
    return InputError("shape '{}' should look like name=1,3,224,224", text);
  };
  if (equals == std::string::npos || equals == 0) throw malformed();
  binding.name = text.substr(0, equals);
  const char* at = text.data() + equals + 1;
  const char* const end = text.data() + text.size();
  while (at < end) {
    int64_t extent = -1;
    const auto result = std::from_chars(at, end, extent);
    if (result.ec != std::errc() || extent < 0) throw malformed();
    binding.shape.push_back(extent);
    at = result.ptr;
    if (at < end && (*at != ',' || ++at == end)) throw malformed();
  }
  require_sane(binding.shape);
  return binding;
}

std::string symbolic(const onnx::TensorShapeProto& shape) {
  std::string text;
  for (const auto& dim : shape.dim()) {
    if (!text.empty()) text += ',';
    if (has_extent(dim))
      text += std::to_string(dim.dim_value());
    else
      text += dim.dim_param().empty() ? "?" : dim.dim_param();
  }
  return text;
}

/// What the user calls dimension `axis`: its name, or its place "x[0]".
std::string called(const onnx::ValueInfoProto& input, int axis) {
  return dimension_symbols(input)[static_cast<size_t>(axis)];
}

void bind(const onnx::ValueInfoProto& input, const Shape& shape, Extents* symbols) {
  const auto& tensor = input.type().tensor_type();
  if (!tensor.has_shape()) return;
  const auto mismatch = [&] {
    return InputError("input '{}' is {}, which {} does not fit", input.name(),
                      symbolic(tensor.shape()), to_string(shape));
  };
  if (tensor.shape().dim_size() != static_cast<int>(shape.size())) throw mismatch();
  for (int i = 0; i < tensor.shape().dim_size(); ++i) {
    const auto& dim = tensor.shape().dim(i);
    const int64_t extent = shape[static_cast<size_t>(i)];
    if (has_extent(dim) && dim.dim_value() != extent) throw mismatch();
    if (has_extent(dim)) continue;
    const auto [known, added] = symbols->emplace(called(input, i), extent);
    if (known->second != extent)
      throw InputError("dimension '{}' is {} in one place and {} in input '{}'", known->first,
                       known->second, extent, input.name());
  }
}

TensorType bound_type(const onnx::ValueInfoProto& input, const Extents& symbols) {
  const auto& tensor = input.type().tensor_type();
  TensorType type = {dtype_of(tensor.elem_type()), {}};
  for (int i = 0; i < tensor.shape().dim_size(); ++i) {
    const auto& dim = tensor.shape().dim(i);
    type.shape.push_back(has_extent(dim) ? dim.dim_value() : symbols.at(called(input, i)));
  }
  require_sane(type.shape);
  return type;
}

std::string quoted_list(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

/// "batch=1,seq=128" into `symbols`.
void bind_dims(const std::string& text, const std::vector<std::string>& known, Extents* symbols) {
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string part = text.substr(at, end - at);
    const size_t equals = part.rfind('=');
    int64_t extent = -1;
    const char* const last = part.data() + part.size();
    const char* const first = equals == std::string::npos ? last : part.data() + equals + 1;
    const auto result = std::from_chars(first, last, extent);
    if (equals == 0 || result.ec != std::errc() || result.ptr != last || extent < 0)
      throw InputError("dimension '{}' should look like batch=1 or batch=1,seq=128", part);
    const std::string name = part.substr(0, equals);
    if (std::ranges::find(known, name) == known.end())
      throw InputError("no input has a dimension '{}'; those without an extent are: {}", name,
                       quoted_list(known));
    const auto [other, added] = symbols->emplace(name, extent);
    if (!added && other->second != extent)
      throw InputError("dimension '{}' is bound to {} and to {}", name, other->second, extent);
    at = end + 1;
  }
}

void require_valid_type(const onnx::ValueInfoProto& value) {
  const auto& type = value.type();
  const int32_t element = type.tensor_type().elem_type();
  if (type.has_tensor_type() &&
      (element == onnx::TensorProto::UNDEFINED || !is_element_type(element)))
    throw InputError("'{}' has elements of type {}, which ONNX does not know", value.name(),
                     element);
}

/// Binds the inputs of one graph.
class Binder {
 public:
  Binder(const onnx::GraphProto& graph, const std::set<std::string>& constants,
         Assumptions assumptions)
      : assumptions_(std::move(assumptions)) {
    for (const auto& input : graph.input()) {
      if (input.type().value_case() == onnx::TypeProto::VALUE_NOT_SET &&
          !constants.contains(input.name()))
        throw InputError("input '{}' has no type: what its elements are has to be known",
                         input.name());
      require_valid_type(input);
      if (!constants.contains(input.name())) inputs_.push_back(&input);
    }
    for (const auto& output : graph.output()) require_valid_type(output);
  }

  BoundInputs bind(const ImportOptions& options) {
    for (const std::string& text : options.shapes) bind_shape(text);
    for (const std::string& text : options.dims) bind_dims(text, symbols_in_order(), &symbols_);
    result_.has_given = !symbols_.empty();
    if (!assumptions_.leave_unknown) assume();
    for (const auto* input : inputs_) add_type(*input);
    if (!assumed_.empty()) warn_of_assumptions();
    result_.symbols = symbols_;
    return std::move(result_);
  }

 private:
  static bool is_tensor(const onnx::ValueInfoProto& input) {
    return input.type().has_tensor_type() &&
           dtype_of(input.type().tensor_type().elem_type()) != DType::kNone;
  }

  void bind_shape(const std::string& text) {
    const Binding binding = parse(text);
    std::vector<std::string> names;
    const onnx::ValueInfoProto* found = nullptr;
    for (const auto* input : inputs_) {
      names.push_back(input->name());
      if (input->name() == binding.name && input->type().has_tensor_type()) found = input;
    }
    if (found == nullptr)
      throw InputError("shape given for '{}', but the inputs are: {}", binding.name,
                       quoted_list(names));
    proto::bind(*found, binding.shape, &symbols_);
    if (!given_.emplace(binding.name, binding.shape).second)
      throw InputError("shape of '{}' is given twice", binding.name);
  }

  std::vector<std::string> symbols_in_order() const {
    std::vector<std::string> symbols;
    for (const auto* input : inputs_)
      for (const std::string& symbol : dimension_symbols(*input))
        if (!symbol.empty() && std::ranges::find(symbols, symbol) == symbols.end())
          symbols.push_back(symbol);
    return symbols;
  }

  void assume() {
    const Extents bound = symbols_;
    do {
      symbols_ = bound;
      assumed_.clear();
      result_.assumed.clear();
      for (const bool arithmetic : {false, true}) assume(arithmetic);
    } while (make_smaller());
  }

  /// Halves the largest extent that was assumed for a large input; false when there is none.
  bool make_smaller() {
    for (const auto* input : inputs_) {
      double elements = 1;
      const std::string* largest = nullptr;
      const auto& dims = input->type().tensor_type().shape().dim();
      for (int axis = 0; is_tensor(*input) && axis < dims.size(); ++axis) {
        const auto at = symbols_.find(called(*input, axis));
        elements *= static_cast<double>(at != symbols_.end() ? at->second : dims[axis].dim_value());
        if (at == symbols_.end() || !result_.assumed.contains(at->first)) continue;
        if (largest == nullptr || at->second > symbols_.at(*largest)) largest = &at->first;
      }
      constexpr double kMostElements = 1 << 24;
      if (elements <= kMostElements || largest == nullptr || symbols_.at(*largest) < 2) continue;
      assumptions_.extents[*largest] = symbols_.at(*largest) / 2;
      return true;
    }
    return false;
  }

  int64_t assumed_extent(const DimensionPlace& place, const std::string& symbol) const {
    const auto wanted = assumptions_.extents.find(symbol);
    return wanted != assumptions_.extents.end() ? wanted->second : default_extent(place, symbols_);
  }

  void assume(bool arithmetic) {
    for (const auto* input : inputs_) {
      if (!is_tensor(*input)) continue;
      const auto& shape = input->type().tensor_type().shape();
      for (int axis = 0; axis < shape.dim_size(); ++axis) {
        const auto& dim = shape.dim(axis);
        const std::string symbol = called(*input, axis);
        if (symbol.empty() || symbols_.contains(symbol) || is_arithmetic(symbol) != arithmetic)
          continue;
        symbols_[symbol] = assumed_extent({dim.dim_param(), axis, shape.dim_size()}, symbol);
        if (!arithmetic) result_.assumed[symbol] = symbols_[symbol];
        assumed_.push_back(fmt::format("{}={}", symbol, symbols_[symbol]));
        if (first_assumed_ == nullptr) first_assumed_ = input;
      }
    }
  }

  bool is_bound(const onnx::ValueInfoProto& input) const {
    return std::ranges::all_of(dimension_symbols(input), [&](const std::string& symbol) {
      return symbol.empty() || symbols_.contains(symbol);
    });
  }

  void add_type(const onnx::ValueInfoProto& input) {
    TensorType& type = result_.types[input.name()];
    if (!is_tensor(input)) return;
    const auto given = given_.find(input.name());
    if (given != given_.end()) {
      type = {dtype_of(input.type().tensor_type().elem_type()), given->second};
    } else if (input.type().tensor_type().has_shape()) {
      if (is_bound(input)) type = bound_type(input, symbols_);
    } else {
      result_.warnings.push_back(
          fmt::format("input '{}' has no shape, so that what follows it stays untouched; give it "
                      "one, such as --shape "
                      "{}=1,3,224,224",
                      input.name(), input.name()));
    }
  }

  void warn_of_assumptions() {
    const Shape& shape = result_.types.at(first_assumed_->name()).shape;
    result_.warnings.push_back(
        fmt::format("extents were assumed: {}; give others with --dim {}, or --shape {}={}",
                    quoted_list(assumed_), fmt::join(assumed_, ","), first_assumed_->name(),
                    fmt::join(shape, ",")));
  }

  std::vector<const onnx::ValueInfoProto*> inputs_;
  std::map<std::string, Shape> given_;
  Assumptions assumptions_;
  Extents symbols_;
  std::vector<std::string> assumed_;  // "batch=1"
  const onnx::ValueInfoProto* first_assumed_ = nullptr;
  BoundInputs result_;
};

}  // namespace

BoundInputs bind_inputs(const onnx::GraphProto& graph, const std::set<std::string>& constants,
                        const ImportOptions& options, const Assumptions& assumptions) {
  return Binder(graph, constants, assumptions).bind(options);
}

}  // namespace reverie::proto
