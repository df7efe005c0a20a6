#include "tools/inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/base/error.h"
#include "core/exec/npz.h"
#include "tools/help.h"

namespace reverie {
namespace {

const TensorType& type_of_input(const Graph& graph, const std::string& name) {
  std::vector<std::string> known;
  for (const NodeId input : graph.inputs()) {
    if (graph.input_name(input) == name) return graph.type(graph.output(input));
    known.push_back(graph.input_name(input));
  }
  throw InputError("the model has no input '{}'; it has {}", name, fmt::join(known, ", "));
}

double number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    throw InputError("'{}' is no number", text);
  return value;
}

/// Integers up to here are drawn exactly.
constexpr double kMostInteger = 0x1p53;

void check_range(const TensorType& type, const InputRange& range) {
  if (!type.has_numbers()) throw InputError("the input holds {}", to_string(type));
  if (range.low > range.high) throw InputError("{} is above {}", range.low, range.high);
  if (is_floating(type.dtype)) return;
  for (const double end : {range.low, range.high})
    if (end != std::floor(end) || std::fabs(end) > kMostInteger)
      throw InputError("the input holds {}, and {} is no such number", name_of(type.dtype), end);
}

void add_range(const std::string& text, const Graph& graph, CompareOptions& options) {
  const size_t equals = text.rfind('=');
  const size_t comma = text.find(',', equals == std::string::npos ? 0 : equals);
  if (equals == std::string::npos || comma == std::string::npos)
    throw InputError("expected NAME=LOW,HIGH");
  const std::string name = text.substr(0, equals);
  const InputRange range = {number(std::string_view(text).substr(equals + 1, comma - equals - 1)),
                            number(std::string_view(text).substr(comma + 1))};
  check_range(type_of_input(graph, name), range);
  options.ranges[name] = range;
}

void check_array(const std::string& name, const Tensor& array, const Graph& graph) {
  const TensorType type = type_of_input(graph, name).at(0);
  if (array.type() != type)
    throw InputError("array '{}' is {}, the input {}", name, to_string(array.type()),
                     to_string(type));
}

}  // namespace

void add_input_options(CLI::App& command, GivenInputs& given) {
  add_repeated(command, "--range", given.ranges, "NAME=LOW,HIGH",
               "Verify on numbers from LOW to HIGH of an input: ids=0,30521; may be repeated");
  command
      .add_option(
          "--inputs", given.file,
          "Verify on these arrays, by the names of inputs, as numpy.savez writes them; symbolic "
          "dimensions get their extents")
      ->type_name("FILE.npz");
}

ImportOptions with_extents(ImportOptions extents, const GivenInputs& given) {
  if (given.file.empty()) return extents;
  for (const auto& [name, array] : read_npz(given.file)) {
    const auto names_it = [&](const std::string& shape) { return shape.starts_with(name + "="); };
    if (array.type().shape.empty() || std::ranges::any_of(extents.shapes, names_it)) continue;
    extents.shapes.push_back(fmt::format("{}={}", name, fmt::join(array.type().shape, ",")));
  }
  return extents;
}

CompareOptions with_inputs(CompareOptions options, const GivenInputs& given, const Graph& graph) {
  for (const std::string& range : given.ranges)
    with_context(fmt::format("--range {}", range), [&] { add_range(range, graph, options); });
  if (given.file.empty()) return options;
  options.given = read_npz(given.file);
  with_context(fmt::format("--inputs {}", given.file), [&] {
    for (const auto& [name, array] : options.given) check_array(name, array, graph);
  });
  return options;
}

}  // namespace reverie
