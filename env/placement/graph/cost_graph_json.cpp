#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "core/base/config.h"
#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/json.h"
#include "env/placement/graph/cost_graph.h"

namespace reverie {
namespace {

constexpr char kFormat[] = "placement-graph/1";

using Keys = std::vector<std::string>;
const Keys kNodeKeys = {"id",
                        "name",
                        "op",
                        "cost_us",
                        "persistent_bytes",
                        "temporary_bytes",
                        "colocation_group",
                        "arithmetic_us",
                        "moved_bytes"};
const Keys kEdgeKeys = {"from", "to", "bytes", "cost_us", "tensor"};
const Keys kGraphKeys = {"format", "name",    "kinds", "nodes",
                         "edges",  "devices", "links", "engines"};
/// Near one of these by spelling, but meant: the model that a graph is of.
const Keys kGraphNotes = {"model"};
/// Where a node comes from.
const Keys kNotes = {"source_id", "layer", "backward", "output_bytes"};
constexpr double kPicosecondsPerMicrosecond = 1e6;

Json microseconds(Picoseconds time) {
  return static_cast<double>(time.count) / kPicosecondsPerMicrosecond;
}

Picoseconds time_of(const Json& microseconds) {
  const double time = microseconds.get<double>() * kPicosecondsPerMicrosecond;
  if (!(std::abs(time) < 0x1p62)) throw InputError("a time of {} us is too long", time / 1e6);
  return {std::llround(time)};
}

void require_keys(const Json& object, const Keys& known, const Keys& notes = {}) {
  for (const auto& [key, value] : object.object())
    if (std::ranges::count(known, key) + std::ranges::count(notes, key) == 0)
      throw InputError("unknown key '{}'; known are {}", key, fmt::join(known, ", "));
}

/// What describes a graph has names of its own, but those that are read are not nearly these.
void require_no_misspelt_key(const Json& graph) {
  for (const auto& [key, value] : graph.object())
    if (std::ranges::count(kGraphKeys, key) + std::ranges::count(kGraphNotes, key) == 0)
      if (const auto nearest = nearest_word(key, kGraphKeys))
        throw InputError("unknown key '{}'; did you mean '{}'?", key, *nearest);
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
  with_context(fmt::format("node {}", number), [&] { require_keys(json, kNodeKeys, kNotes); });
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

/// Edges of one node with the same number of a tensor are one; without numbers, those of the same
/// size.
class TensorReader {
 public:
  void add(const Json& edge) {
    with_context("edges", [&] { require_keys(edge, kEdgeKeys); });
    CostTensor one = tensor_of(edge);
    const Json* number = edge.find("tensor");
    const bool is_numbered = number != nullptr && !number->is_null();
    const Key key = is_numbered ? Key(one.producer, number->get<int64_t>(), Picoseconds{}, true)
                                : Key(one.producer, one.bytes, one.transfer, false);
    const auto [place, is_new] = known_.try_emplace(key, tensors.size());
    CostTensor& tensor = is_new ? tensors.emplace_back(std::move(one)) : tensors[place->second];
    if (!is_new && (tensor.bytes != one.bytes || tensor.transfer != one.transfer))
      throw InputError("tensor {} of node {} has two sizes", number->get<int64_t>(),
                       tensor.producer);
    if (!edge.at("to").is_null()) tensor.readers.push_back(edge.at("to").get<int>());
  }

  std::vector<CostTensor> tensors;

 private:
  using Key = std::tuple<int, int64_t, Picoseconds, bool>;
  static CostTensor tensor_of(const Json& edge) {
    const Json* time = edge.find("cost_us");
    const bool by_link = time == nullptr || time->is_null();
    return {.producer = edge.at("from").get<int>(),
            .bytes = bytes_of(edge, "bytes"),
            .transfer = by_link ? CostTensor::kByLink : time_of(*time),
            .readers = {}};
  }

  std::map<Key, size_t> known_;
};

/// By kind; `of_null` where a node cannot run.
std::vector<Picoseconds> times_of(const Json& node, const char* key,
                                  const std::vector<std::string>& kinds, Picoseconds of_null) {
  std::vector<Picoseconds> times;
  for (const std::string& kind : kinds) {
    const Json& time = node.at(key).at(kind);
    times.push_back(time.is_null() ? of_null : time_of(time));
  }
  return times;
}

std::optional<CostParts> parts_of(const Json& json, const std::vector<std::string>& kinds) {
  const Json* all = json.find("kinds");
  if (all == nullptr || all->is_null()) return std::nullopt;
  CostParts parts;
  with_context("kinds", [&] {
    for (const std::string& kind : kinds)
      require_keys(all->at(kind), {"bytes_per_second", "launch_us"});
    for (const std::string& kind : kinds)
      parts.kinds.push_back({all->at(kind).at("bytes_per_second").get<double>(),
                             time_of(all->at(kind).at("launch_us"))});
  });
  for (const Json& node : json.at("nodes").array())
    with_context("node '" + node.at("name").get<std::string>() + "'", [&] {
      for (const Picoseconds time : times_of(node, "arithmetic_us", kinds, {}))
        parts.arithmetic.push_back(time);
      node.at("moved_bytes");  // null is none, but it must be there
      parts.moved_bytes.push_back(bytes_of(node, "moved_bytes"));
    });
  return parts;
}

CostGraph graph_of(const Json& json) {
  if (json.at("format").get<std::string>() != kFormat)
    throw InputError("the format is '{}'; this program reads '{}'",
                     json.at("format").get<std::string>(), kFormat);
  require_no_misspelt_key(json);
  const Json& all = json.at("nodes");
  const std::vector<std::string> kinds = kinds_of(all);
  std::vector<CostNode> nodes;
  std::vector<Picoseconds> costs;
  for (const Json& node : all.array()) {
    nodes.push_back(node_of(node, nodes.size()));
    with_context("node '" + nodes.back().name + "'", [&] {
      for (const Picoseconds time : times_of(node, "cost_us", kinds, CostGraph::kCannotRun))
        costs.push_back(time);
    });
  }
  TensorReader reader;
  for (const Json& edge : json.at("edges").array()) reader.add(edge);
  return CostGraph(json.at("name").get<std::string>(), kinds, std::move(nodes), std::move(costs),
                   std::move(reader.tensors), parts_of(json, kinds));
}

/// By kind, of what has one time for each; null where the node cannot run.
Json times_json(const CostGraph& graph, int node, const auto& time_of_kind) {
  Json times = Json::Object();
  for (size_t kind = 0; kind < graph.kinds().size(); ++kind)
    times[graph.kinds()[kind]] =
        graph.can_run(node, static_cast<int>(kind)) ? microseconds(time_of_kind(kind)) : Json();
  return times;
}

Json node_json(const CostGraph& graph, int number) {
  const auto at = static_cast<size_t>(number);
  const CostNode& node = graph.nodes()[at];
  Json json = {{"id", number}, {"name", node.name}, {"op", node.op}};
  json["cost_us"] = times_json(
      graph, number, [&](size_t kind) { return graph.cost(number, static_cast<int>(kind)); });
  json["persistent_bytes"] = node.persistent_bytes;
  json["temporary_bytes"] = node.temporary_bytes;
  json["colocation_group"] = node.group < 0 ? Json() : Json(node.group);
  if (!graph.parts()) return json;
  const CostParts& parts = *graph.parts();
  json["arithmetic_us"] = times_json(graph, number, [&](size_t kind) {
    return parts.arithmetic[at * graph.kinds().size() + kind];
  });
  json["moved_bytes"] = parts.moved_bytes[at];
  return json;
}

void add_edges(const CostGraph& graph, int number, Json::Array* edges) {
  const auto [first, last] = graph.outputs(number);
  for (int i = first; i < last; ++i) {
    const CostTensor& tensor = graph.tensors()[static_cast<size_t>(i)];
    const auto add = [&](Json to) {
      edges->push_back({{"from", number}, {"to", std::move(to)}, {"bytes", tensor.bytes}});
      edges->back()["tensor"] = i - first;
      if (tensor.transfer != CostTensor::kByLink)
        edges->back()["cost_us"] = microseconds(tensor.transfer);
    };
    for (const int reader : tensor.readers) add(reader);
    if (tensor.readers.empty()) add(Json());
  }
}

Json kinds_json(const CostGraph& graph) {
  Json all = Json::Object();
  for (size_t i = 0; i < graph.kinds().size(); ++i) {
    const CostParts::Kind& kind = graph.parts()->kinds[i];
    all[graph.kinds()[i]] =
        Json{{"bytes_per_second", kind.bytes_per_second}, {"launch_us", microseconds(kind.launch)}};
  }
  return all;
}

std::string lines_of(const Json::Array& elements) {
  std::string text;
  for (const Json& element : elements)
    text += fmt::format("{}\n  {}", text.empty() ? "" : ",", element.dump());
  return text;
}

}  // namespace

CostGraph read_cost_graph(const std::string& path) {
  return with_context(path, [&] { return graph_of(Json::parse(read_file(path))); });
}

void write_cost_graph(const CostGraph& graph, const std::string& path) {
  Json::Array nodes, edges;
  for (int node = 0; node < graph.size(); ++node) {
    nodes.push_back(node_json(graph, node));
    add_edges(graph, node, &edges);
  }
  const std::string kinds =
      graph.parts() ? fmt::format(" \"kinds\": {},\n", kinds_json(graph).dump()) : "";
  write_file(path, fmt::format("{{\"format\": \"{}\", \"name\": {},\n{} \"nodes\": [{}],\n "
                               "\"edges\": [{}]}}\n",
                               kFormat, Json(graph.name()).dump(), kinds, lines_of(nodes),
                               lines_of(edges)));
}

}  // namespace reverie
