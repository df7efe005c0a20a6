#include "env/placement/graph/generator.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "core/base/error.h"
#include "core/cost/roofline.h"
#include "env/placement/graph/forward_sketch.h"

namespace reverie {
namespace {

constexpr int kLeastNodes = 100, kMostNodes = 200'000;
constexpr std::string_view kPrefix = "generate:", kReference = "v100";
constexpr double kMostSeconds = 1000;  // of work; a processor takes 35 times as long

/// The whole graph, before costs are known. Node i gives out tensor i.
struct Outline {
  std::vector<CostNode> nodes;
  std::vector<CostTensor> tensors;
  std::vector<int64_t> moved_bytes;
  std::vector<double> flops;
  std::vector<bool> is_matrix_work;

  int add(CostNode node, double bytes, double work, const std::vector<int>& inputs,
          double weight = 0) {
    const int number = static_cast<int>(nodes.size());
    double moved = node.op == "Input" ? 0 : bytes + weight;
    for (const int input : inputs) {
      CostTensor& tensor = tensors[static_cast<size_t>(input)];
      tensor.readers.push_back(number);
      moved += static_cast<double>(tensor.bytes);
    }
    is_matrix_work.push_back(weight > 0 && node.op != "Update");
    nodes.push_back(std::move(node));
    tensors.push_back({.producer = number, .bytes = static_cast<int64_t>(bytes), .readers = {}});
    moved_bytes.push_back(static_cast<int64_t>(moved));
    flops.push_back(work);
    return number;
  }

  double arithmetic(size_t node, const DeviceProfile& profile) const {
    return flops[node] / (profile.peak_flops *
                          (is_matrix_work[node] ? profile.matrix_share : profile.vector_share));
  }
  /// With so many times the FLOPs.
  double seconds(size_t node, const DeviceProfile& profile, double factor = 1) const {
    if (moved_bytes[node] == 0) return 0;
    const double memory =
        static_cast<double>(moved_bytes[node]) / (profile.bandwidth * profile.bandwidth_share);
    return profile.launch_seconds + std::max(factor * arithmetic(node, profile), memory);
  }
};

/// Adds gradients, updates and the loss to a forward pass.
class Training {
 public:
  explicit Training(const ForwardSketch& sketch)
      : sketch_(sketch),
        is_held_(sketch.weight_bytes.size()),
        readers_(sketch.nodes.size()),
        gradient_(sketch.nodes.size(), -1),
        weight_gradients_(sketch.weight_bytes.size()) {}

  Outline outline() {
    const int size = static_cast<int>(sketch_.nodes.size());
    for (int node = 0; node < size; ++node) add_forward(node);
    std::vector<int> ends;
    for (int node = 0; node < size; ++node)
      if (readers(node).empty()) ends.push_back(node);
    loss_ = outline_.add({.name = "loss", .op = "Loss"}, 4, 0, ends);
    for (int node = size - 1; node >= 0; --node)
      if (forward(node).op != "Input") add_gradients(node);
    for (size_t weight = 0; weight < weight_gradients_.size(); ++weight) add_update(weight);
    return std::move(outline_);
  }

 private:
  const ForwardSketch::Node& forward(int node) const {
    return sketch_.nodes[static_cast<size_t>(node)];
  }
  std::vector<int>& readers(int node) { return readers_[static_cast<size_t>(node)]; }
  double weight_of(int node) const {
    const int weight = forward(node).weight;
    return weight < 0 ? 0 : sketch_.weight_bytes[static_cast<size_t>(weight)];
  }
  double flops_of(int node) const { return forward(node).bytes * forward(node).flops_per_byte; }
  /// Shared weights come first, then each node has its own.
  int group_of(int node) const {
    const int shared = forward(node).group;
    return shared >= 0 ? shared : static_cast<int>(sketch_.weight_bytes.size()) + node;
  }
  CostNode part(int node, const char* which) const {
    const std::string op = fmt::format("{}{}", forward(node).op, which);
    return {.name = fmt::format("{}_{}", op, node), .op = op, .group = group_of(node)};
  }

  void add_forward(int node) {
    const auto& one = forward(node);
    CostNode made = part(node, "");
    if (one.op == "Input") made.group = -1;
    if (one.weight >= 0 && !is_held_[static_cast<size_t>(one.weight)]) {
      is_held_[static_cast<size_t>(one.weight)] = true;
      made.persistent_bytes = static_cast<int64_t>(weight_of(node));
    }
    outline_.add(std::move(made), one.bytes, flops_of(node), one.inputs, weight_of(node));
    for (const int input : one.inputs) readers(input).push_back(node);
  }

  void add_gradients(int node) {
    const auto& one = forward(node);
    std::vector<int> inputs = one.inputs;
    for (const int reader : readers(node)) inputs.push_back(gradient_[static_cast<size_t>(reader)]);
    if (readers(node).empty()) inputs.push_back(loss_);
    double largest = 0;
    for (const int input : one.inputs) largest = std::max(largest, forward(input).bytes);
    gradient_[static_cast<size_t>(node)] =
        outline_.add(part(node, "Grad"), largest, flops_of(node), inputs, weight_of(node));
    if (one.weight < 0) return;
    weight_gradients_[static_cast<size_t>(one.weight)].push_back(outline_.add(
        part(node, "GradWeight"), weight_of(node), flops_of(node), inputs, weight_of(node)));
  }

  void add_update(size_t weight) {
    const auto& gradients = weight_gradients_[weight];
    if (gradients.empty()) return;
    const double bytes = sketch_.weight_bytes[weight];
    outline_.add({.name = fmt::format("Update_{}", weight),
                  .op = "Update",
                  .group = outline_.nodes[static_cast<size_t>(gradients[0])].group},
                 0, bytes / 2, gradients, 2 * bytes);
  }

  const ForwardSketch& sketch_;
  Outline outline_;
  std::vector<bool> is_held_;              ///< by weight
  std::vector<std::vector<int>> readers_;  ///< forward, by node
  std::vector<int> gradient_;              ///< by node; -1: none
  std::vector<std::vector<int>> weight_gradients_;
  int loss_ = 0;
};

/// What FLOPs are multiplied by, so that transfers take their share of the time.
double flops_factor(const Outline& outline, const GeneratorOptions& options) {
  double bytes = 0;
  for (const CostTensor& tensor : outline.tensors) bytes += static_cast<double>(tensor.bytes);
  const double transfers = bytes / options.link_bytes_per_second;
  const double wanted = transfers / options.communication_to_computation;
  const DeviceProfile& profile = device_profile(kReference);
  const auto work = [&](double factor) {
    double sum = 0;
    for (size_t node = 0; node < outline.nodes.size(); ++node)
      sum += outline.seconds(node, profile, factor);
    return sum;
  };
  if (!(work(0) <= wanted && wanted < kMostSeconds))
    throw InputError("communication can be {:.3g} to {:.3g} times computation here, not {:.3g}",
                     transfers / kMostSeconds, transfers / work(0),
                     options.communication_to_computation);
  double low = 0, high = 1;
  while (work(high) < wanted) high *= 2;
  for (int i = 0; i < 50; ++i) {
    const double middle = (low + high) / 2;
    (work(middle) < wanted ? low : high) = middle;
  }
  return high;
}

CostGraph with_costs(const std::string& name, Outline outline) {
  std::vector<const DeviceProfile*> profiles;
  for (const DeviceProfile& profile : device_profiles()) profiles.push_back(&profile);
  std::ranges::sort(profiles, {}, &DeviceProfile::name);
  std::vector<std::string> kinds;
  CostParts parts{.kinds = {}, .arithmetic = {}, .moved_bytes = outline.moved_bytes};
  for (const DeviceProfile* profile : profiles) {
    kinds.emplace_back(profile->name);
    parts.kinds.push_back({profile->bandwidth * profile->bandwidth_share,
                           Picoseconds::from_seconds(profile->launch_seconds)});
  }
  std::vector<Picoseconds> costs;
  for (size_t node = 0; node < outline.nodes.size(); ++node)
    for (const DeviceProfile* profile : profiles) {
      costs.push_back(Picoseconds::from_seconds(outline.seconds(node, *profile)));
      parts.arithmetic.push_back(Picoseconds::from_seconds(outline.arithmetic(node, *profile)));
    }
  return CostGraph(name, std::move(kinds), std::move(outline.nodes), std::move(costs),
                   std::move(outline.tensors), std::move(parts));
}

template <class T>
T number_in(std::string_view text, std::string_view what) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    throw InputError("{} '{}' is no whole number that fits", what, text);
  return number;
}

}  // namespace

CostGraph generate_graph(const GeneratorOptions& options) {
  if (options.nodes < kLeastNodes || options.nodes > kMostNodes)
    throw InputError("{} nodes are not from {} to {}", options.nodes, kLeastNodes, kMostNodes);
  if (!(options.communication_to_computation > 0) || !(options.link_bytes_per_second > 0))
    throw InputError("communication and the link's bandwidth must be above 0");
  Rng rng(options.seed);
  const ForwardSketch sketch = draw_forward(options.family, options.nodes, rng);
  Outline outline = Training(sketch).outline();
  const double factor = flops_factor(outline, options);
  for (double& one : outline.flops) one *= factor;
  return with_costs(fmt::format("{}{}:{}:{}", kPrefix, options.family, options.nodes, options.seed),
                    std::move(outline));
}

CostGraph generated_graph(const std::string& text) {
  return with_context(text, [&] {
    std::vector<std::string_view> parts;
    for (size_t from = 0, to = 0; to != std::string::npos; from = to + 1) {
      to = text.find(':', from);
      parts.push_back(std::string_view(text).substr(from, to - from));
    }
    if (parts.size() != 4 || !is_generated_graph(text))
      throw InputError("must be generate:FAMILY:NODES:SEED");
    return generate_graph({.family = std::string(parts[1]),
                           .nodes = number_in<int>(parts[2], "NODES"),
                           .seed = number_in<uint64_t>(parts[3], "SEED")});
  });
}

bool is_generated_graph(const std::string& text) { return text.starts_with(kPrefix); }

}  // namespace reverie
