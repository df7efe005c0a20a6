#include "env/placement/graph/topology.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/json.h"

namespace reverie {
namespace {

// Bandwidths and latencies as their makers give them for one direction:
// NVLink 2.0 six links of 25 GB/s, NVLink 4.0 18 links of 25 GB/s, PCIe 3.0 of
// 16 lanes.
constexpr std::array<std::pair<const char*, const char*>, 3> kKnown = {{
    {"2xv100-nvlink", R"(
devices: [{name: gpu, kind: v100, count: 2, memory: 16GiB}]
links: [{between: [gpu, gpu], latency: 5us, bandwidth: 150GB/s}]
)"},
    {"8xh100", R"(
devices: [{name: gpu, kind: h100, count: 8, memory: 80GiB}]
links: [{between: [gpu, gpu], latency: 5us, bandwidth: 450GB/s}]
)"},
    {"cpu+gpu", R"(
devices: [{name: host, kind: cpu, memory: 64GiB}, {name: gpu, kind: v100, memory: 16GiB}]
links: [{between: [host, gpu], latency: 10us, bandwidth: 16GB/s, bus: pcie}]
)"},
}};

using Units = std::map<std::string, double>;
const Units kTimes = {{"ps", 1}, {"ns", 1e3}, {"us", 1e6}, {"ms", 1e9}};  // in picoseconds
const Units kRates = {{"kB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}, {"TB/s", 1e12}};
const Units kSizes = {{"B", 1}, {"KiB", 1024.0}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}};

std::string text_of(const YAML::Node& node, const std::string& key) {
  if (!node || !node.IsScalar() || node.Scalar().empty())
    throw InputError("'{}' needs a value", key);
  return node.Scalar();
}

/// A number with its unit: "5us".
double quantity(const YAML::Node& node, const std::string& key, const Units& units) {
  const std::string text = text_of(node, key);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto unit = units.find(std::string(end, text.data() + text.size()));
  if (error != std::errc() || unit == units.end() || !(number >= 0)) {
    std::vector<std::string> names;
    for (const auto& [name, factor] : units) names.push_back(name);
    throw InputError("'{}: {}' is no number with one of the units {}", key, text,
                     fmt::join(names, ", "));
  }
  const double value = number * unit->second;
  if (!(value < 0x1p62)) throw InputError("'{}: {}' is too large", key, text);
  return value;
}

void require_keys(const YAML::Node& map, const std::set<std::string>& known) {
  if (!map.IsMap()) throw InputError("a map is needed, with {}", fmt::join(known, ", "));
  for (const auto& entry : map)
    if (const std::string key = text_of(entry.first, "key"); !known.contains(key))
      throw InputError("unknown key '{}'; known are {}", key, fmt::join(known, ", "));
}

bool truth(const YAML::Node& node, const std::string& key) {
  const std::string text = text_of(node, key);
  if (text != "true" && text != "false") throw InputError("'{}' must be true or false", key);
  return text == "true";
}

/// Reads devices first, then links between those of two names.
class TopologyReader {
 public:
  explicit TopologyReader(bool may_lack_links) : may_lack_links_(may_lack_links) {}

  Topology read(const YAML::Node& root) {
    require_keys(root, {"devices", "links", "engines"});
    for (const YAML::Node& node : root["devices"])
      with_context("devices", [&] { add_devices(node); });
    if (all_.devices.empty()) throw InputError("'devices' names none");
    const size_t devices = all_.devices.size();
    all_.links.resize(devices * devices);
    is_linked_.resize(devices * devices);
    if (may_lack_links_ && !root["links"]) join_ideally();
    for (const YAML::Node& node : root["links"]) with_context("links", [&] { add_links(node); });
    require_links();
    if (root["engines"]) with_context("engines", [&] { switch_engines(root["engines"]); });
    return std::move(all_);
  }

 private:
  void add_devices(const YAML::Node& node) {
    require_keys(node, {"id", "name", "kind", "count", "memory", "memory_bytes"});
    const std::string name = text_of(node["name"], "name");
    const bool is_one = !node["count"];
    const double count = is_one ? 1 : quantity(node["count"], "count", {{"", 1}});
    if (count != std::floor(count) || count < 1 || count > 64)
      throw InputError("'count' must be a whole number from 1 to 64");
    Device device{.name = name, .kind = text_of(node["kind"], "kind")};
    if (node["memory"])
      device.memory_bytes = static_cast<int64_t>(quantity(node["memory"], "memory", kSizes));
    if (node["memory_bytes"] && !node["memory_bytes"].IsNull())
      device.memory_bytes =
          static_cast<int64_t>(quantity(node["memory_bytes"], "memory_bytes", {{"", 1}}));
    if (!named_.try_emplace(name).second) throw InputError("the name '{}' is given twice", name);
    for (int i = 0; i < static_cast<int>(count); ++i) {
      if (!is_one) device.name = fmt::format("{}{}", name, i);
      named_[name].push_back(all_.size());
      all_.devices.push_back(device);
    }
  }

  const std::vector<int>& named(const YAML::Node& node) const {
    const auto found = named_.find(text_of(node, "between"));
    if (found == named_.end()) throw InputError("no device is called '{}'", node.Scalar());
    return found->second;
  }

  void add_links(const YAML::Node& node) {
    require_keys(node, {"between", "latency", "bandwidth", "bus"});
    if (!node["between"] || !node["between"].IsSequence() || node["between"].size() != 2)
      throw InputError("'between' needs two names of devices");
    Link link;
    if (node["latency"])
      link.latency = {std::llround(quantity(node["latency"], "latency", kTimes))};
    if (node["bandwidth"]) link.bytes_per_second = quantity(node["bandwidth"], "bandwidth", kRates);
    if (link.bytes_per_second <= 0) throw InputError("'bandwidth' must be above 0");
    if (node["bus"]) {
      const auto [bus, is_new] = buses_.try_emplace(text_of(node["bus"], "bus"), all_.buses);
      all_.buses += is_new ? 1 : 0;
      link.bus = bus->second;
    }
    for (const int one : named(node["between"][0]))
      for (const int other : named(node["between"][1]))
        for (const auto& [from, to] : {std::pair(one, other), std::pair(other, one)}) {
          const size_t place =
              static_cast<size_t>(from) * all_.devices.size() + static_cast<size_t>(to);
          all_.links[place] = link;
          is_linked_[place] = true;
        }
  }

  void join_ideally() {
    is_linked_.assign(is_linked_.size(), true);
    all_.send_engines = all_.receive_engines = all_.shared_buses = false;
  }

  void require_links() const {
    for (size_t from = 0; from < all_.devices.size(); ++from)
      for (size_t to = 0; to < all_.devices.size(); ++to)
        if (from != to && !is_linked_[from * all_.devices.size() + to])
          throw InputError("links: none joins '{}' and '{}'", all_.devices[from].name,
                           all_.devices[to].name);
  }

  void switch_engines(const YAML::Node& node) {
    require_keys(node, {"send", "receive", "bus"});
    if (node["send"]) all_.send_engines = truth(node["send"], "send");
    if (node["receive"]) all_.receive_engines = truth(node["receive"], "receive");
    if (node["bus"]) all_.shared_buses = truth(node["bus"], "bus");
  }

  bool may_lack_links_;
  Topology all_;
  std::vector<bool> is_linked_;
  std::map<std::string, std::vector<int>> named_;
  std::map<std::string, int> buses_;
};

Topology topology_of(const std::string& yaml, const std::string& name, bool may_lack_links) {
  try {
    Topology topology = TopologyReader(may_lack_links).read(YAML::Load(yaml));
    topology.name = name;
    return topology;
  } catch (const YAML::Exception& error) {
    throw InputError("line {}: {}", error.mark.line + 1, error.msg);
  }
}

}  // namespace

Topology ideal_devices(int count, const std::string& kind) {
  Topology topology;
  topology.name = fmt::format("{} x {}", count, kind);
  for (int i = 0; i < count; ++i) topology.devices.push_back({fmt::format("{}{}", kind, i), kind});
  topology.links.resize(topology.devices.size() * topology.devices.size());
  topology.send_engines = topology.receive_engines = topology.shared_buses = false;
  return topology;
}

std::vector<std::string> known_topologies() {
  std::vector<std::string> names;
  for (const auto& [name, text] : kKnown) names.emplace_back(name);
  return names;
}

Topology read_topology(const std::string& name_or_path) {
  return with_context(name_or_path, [&] {
    const auto known = std::ranges::find(kKnown, name_or_path,
                                         [](const auto& one) { return std::string(one.first); });
    if (known == kKnown.end() && !file_exists(name_or_path))
      throw InputError(
          "there is no such file; built in are {}, and cores:N and streams:N are cores of this "
          "machine and streams of its GPU",
          fmt::join(known_topologies(), ", "));
    const std::string text = known != kKnown.end() ? known->second : read_file(name_or_path);
    return topology_of(text, name_or_path, /*may_lack_links=*/false);
  });
}

std::optional<Topology> topology_in_graph(const std::string& path) {
  return with_context(path, [&]() -> std::optional<Topology> {
    const Json graph = Json::parse(read_file(path));
    if (!graph.is_object() || graph.find("devices") == nullptr) return std::nullopt;
    Json topology = Json::Object();
    for (const char* key : {"devices", "links", "engines"})
      if (const Json* part = graph.find(key)) topology[key] = *part;  // JSON is YAML
    return topology_of(topology.dump(), path, /*may_lack_links=*/true);
  });
}

}  // namespace reverie
