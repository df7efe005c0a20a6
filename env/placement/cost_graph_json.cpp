#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/json.h"
#include "env/placement/cost_graph.h"

namespace reverie {
namespace {

constexpr char kFormat[] = "placement-graph/1";
constexpr double kPicosecondsPerMicrosecond = 1e6;

Picoseconds time_of(const Json& microseconds) {
  const double time = microseconds.get<double>() * kPicosecondsPerMicrosecond;
  if (!(std::abs(time) < 0x1p62)) throw InputError("a time of {} us is too long", time / 1e6);
  return {std::llround(time)};
}

/// null is none, and a part of a byte counts as one.
int64_t bytes_of(const Json& object, const char* key) {
  const Json* json = object.find(key);
  if (json == nullptr || json->is_null()) return 0;
  if (json->is_integer()) return json->get<int64_t>();
  const double bytes = json->get<double>();
  if (!(std::abs(bytes) < 0x1p62)) throw InputError("'{}' is {} bytes, too many", key, bytes);
  return static_cast<int64_t>(std::ceil(bytes));
}

/// The kinds of all nodes, in the order of the alphabet.
std::vector<std::string> kinds_of(const Json& nodes) {
  std::set<std::string> kinds;
  for (const Json& node : nodes.array())
    for (const auto& [kind, cost] : node.at("cost_us").object()) kinds.insert(kind);
  return {kinds.begin(), kinds.end()};
}

CostNode node_of(const Json& json, size_t number) {
  if (json.at("id").get<int64_t>() != static_cast<int64_t>(number))
    throw InputError("nodes must be numbered from 0 in their order");
  CostNode node;
  node.name = json.at("name").get<std::string>();
  node.op = json.at("op").get<std::string>();
  node.persistent_bytes = bytes_of(json, "persistent_bytes");
  node.temporary_bytes = bytes_of(json, "temporary_bytes");
  const Json* group = json.find("colocation_group");
  if (group != nullptr && !group->is_null()) node.group = group->get<int>();
  return node;
}

std::vector<CostTensor> tensors_of(const Json& edges) {
  std::vector<CostTensor> tensors;
  std::map<std::tuple<int, int64_t, Picoseconds>, size_t> known;
  for (const Json& edge : edges.array()) {
    const Json* time = edge.find("cost_us");
    const bool by_link = time == nullptr || time->is_null();
    CostTensor tensor{.producer = edge.at("from").get<int>(),
                      .bytes = bytes_of(edge, "bytes"),
                      .transfer = by_link ? CostTensor::kByLink : time_of(*time),
                      .readers = {}};
    const auto [place, is_new] =
        known.try_emplace({tensor.producer, tensor.bytes, tensor.transfer}, tensors.size());
    if (is_new) tensors.push_back(std::move(tensor));
    tensors[place->second].readers.push_back(edge.at("to").get<int>());
  }
  return tensors;
}

CostGraph graph_of(const Json& json) {
  if (json.at("format").get<std::string>() != kFormat)
    throw InputError("the format is '{}'; this program reads '{}'",
                     json.at("format").get<std::string>(), kFormat);
  const Json& all = json.at("nodes");
  const std::vector<std::string> kinds = kinds_of(all);
  std::vector<CostNode> nodes;
  std::vector<Picoseconds> costs;
  for (const Json& node : all.array()) {
    nodes.push_back(node_of(node, nodes.size()));
    for (const std::string& kind : kinds)
      with_context("node '" + nodes.back().name + "'",
                   [&] { costs.push_back(time_of(node.at("cost_us").at(kind))); });
  }
  return CostGraph(json.at("name").get<std::string>(), kinds, std::move(nodes), std::move(costs),
                   tensors_of(json.at("edges")));
}

}  // namespace

CostGraph read_cost_graph(const std::string& path) {
  return with_context(path, [&] { return graph_of(Json::parse(read_file(path))); });
}

}  // namespace reverie
