#include "controller/agents/node_features.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "core/base/hash.h"
#include "env/placement/search/heuristics.h"
#include "env/placement/search/plan.h"
#include "env/placement/simulator/ordered_placement.h"

namespace reverie {
namespace {

using Columns = std::vector<std::vector<double>>;  // by column, by node

double number(Picoseconds time) { return static_cast<double>(time.count); }

std::vector<double> mean_transfers(const Simulator& simulator) {
  std::vector<double> means;
  for (int tensor = 0; tensor < std::ssize(simulator.graph().tensors()); ++tensor)
    means.push_back(mean_transfer(simulator, tensor));
  return means;
}

/// Mean of f(x).
template <class F>
double mean_of(std::span<const std::vector<double>> columns, const F& f) {
  double sum = 0, count = 0;
  for (const auto& column : columns)
    for (const double value : column) sum += f(value), ++count;
  return sum / std::max(1.0, count);
}

/// Less their mean and over their standard deviation; those without any become 0.
void standardise(std::span<std::vector<double>> columns) {
  const double mean = mean_of(columns, [](double x) { return x; });
  const double square = mean_of(columns, [&](double x) { return (x - mean) * (x - mean); });
  const double factor = square > 1e-12 ? 1 / std::sqrt(square) : 0;
  for (auto& column : columns)
    for (double& value : column) value = (value - mean) * factor;
}

/// log(1 + x / mean); those of zeros stay 0.
void take_logarithms(std::span<std::vector<double>> columns) {
  const double mean = mean_of(columns, [](double x) { return x; });
  for (auto& column : columns)
    for (double& value : column) value = mean > 0 ? std::log1p(value / mean) : 0;
}

/// What a node reads and what it writes, of numbers by tensor.
Columns of_tensors(const CostGraph& graph, const std::vector<double>& values) {
  Columns columns(2, std::vector<double>(static_cast<size_t>(graph.size())));
  for (int node = 0; node < graph.size(); ++node) {
    for (const int tensor : graph.inputs(node))
      columns[0][static_cast<size_t>(node)] += values[static_cast<size_t>(tensor)];
    const auto [first, end] = graph.outputs(node);
    for (int tensor = first; tensor < end; ++tensor)
      columns[1][static_cast<size_t>(node)] += values[static_cast<size_t>(tensor)];
  }
  return columns;
}

Columns times(const Simulator& simulator) {
  const CostGraph& graph = simulator.graph();
  Columns columns;
  for (int device = 0; device < simulator.topology().size(); ++device) {
    columns.emplace_back();
    for (int node = 0; node < graph.size(); ++node)
      columns.back().push_back(number(simulator.cost(node, device)));
  }
  take_logarithms(columns);
  standardise(columns);
  return columns;
}

/// The mean tensors of a node, over the mean node.
double dearness(const Columns& transfers, const Simulator& simulator) {
  double transfer = 1, time = 1;
  for (const double one : transfers.back()) transfer += one;
  for (int node = 0; node < simulator.graph().size(); ++node)
    for (int device = 0; device < simulator.topology().size(); ++device)
      time += number(simulator.cost(node, device)) / simulator.topology().size();
  return std::clamp(std::log10(transfer / time) / 3, -1.0, 1.0);
}

Columns transfers(const Simulator& simulator) {
  Columns columns = of_tensors(simulator.graph(), mean_transfers(simulator));
  const double constant = dearness(columns, simulator);
  take_logarithms(columns);
  for (auto& column : columns) standardise({&column, 1});
  columns.emplace_back(columns.front().size(), constant);
  return columns;
}

Columns bytes(const CostGraph& graph) {
  std::vector<double> of_tensor;
  for (const CostTensor& tensor : graph.tensors())
    of_tensor.push_back(static_cast<double>(tensor.bytes));
  Columns columns = of_tensors(graph, of_tensor);
  columns.resize(4);
  for (const CostNode& node : graph.nodes()) {
    columns[2].push_back(static_cast<double>(node.persistent_bytes));
    columns[3].push_back(static_cast<double>(node.temporary_bytes));
  }
  take_logarithms(columns);
  for (auto& column : columns) standardise({&column, 1});
  return columns;
}

Columns degrees(const CostGraph& graph) {
  std::vector<double> readers;
  for (const CostTensor& tensor : graph.tensors())
    readers.push_back(static_cast<double>(tensor.readers.size()));
  Columns columns = of_tensors(graph, readers);
  for (int node = 0; node < graph.size(); ++node)
    columns[0][static_cast<size_t>(node)] = static_cast<double>(graph.inputs(node).size());
  for (auto& column : columns)
    for (double& value : column) value = std::log1p(value);
  for (auto& column : columns) standardise({&column, 1});
  return columns;
}

Columns path_shares(const Simulator& simulator) {
  const CostGraph& graph = simulator.graph();
  const std::vector<int64_t> rest = path_priorities(simulator);
  const auto longest = static_cast<double>(std::max<int64_t>(1, std::ranges::max(rest)));
  Columns columns(2, std::vector<double>(rest.size()));
  for (const int node : graph.order()) {
    double cost = 0;
    for (int device = 0; device < simulator.topology().size(); ++device)
      cost += number(simulator.cost(node, device)) / simulator.topology().size();
    const double end = columns[0][static_cast<size_t>(node)] + cost / longest;
    const auto [first, last] = graph.outputs(node);
    for (int tensor = first; tensor < last; ++tensor)
      for (const int reader : graph.tensors()[static_cast<size_t>(tensor)].readers) {
        double& start = columns[0][static_cast<size_t>(reader)];
        start = std::max(start, end);
      }
    columns[1][static_cast<size_t>(node)] =
        static_cast<double>(rest[static_cast<size_t>(node)]) / longest;
  }
  for (auto& column : columns) standardise({&column, 1});
  return columns;
}

Columns memory_shares(const Simulator& simulator) {
  double all = 1;
  for (const CostNode& node : simulator.graph().nodes())
    all += static_cast<double>(node.persistent_bytes) + static_cast<double>(node.temporary_bytes);
  for (const CostTensor& tensor : simulator.graph().tensors())
    all += static_cast<double>(tensor.bytes);
  Columns columns;
  for (const Device& device : simulator.topology().devices)
    columns.emplace_back(static_cast<size_t>(simulator.graph().size()),
                         std::min(1.0, static_cast<double>(device.memory_bytes) / all));
  return columns;
}

torch::Tensor of_numbers(const std::vector<int64_t>& values) {
  return torch::tensor(values, torch::kLong);
}

/// By node of the order: `list(node)` calls back with nodes.
template <class List>
NeighbourRows neighbours(const CostGraph& graph, const std::vector<int64_t>& row,
                         const List& list) {
  std::vector<int64_t> rows, count;
  for (const int node : graph.order()) {
    const size_t before = rows.size();
    list(node, [&](int other) { rows.push_back(row[static_cast<size_t>(other)]); });
    count.push_back(static_cast<int64_t>(rows.size() - before));
  }
  return {of_numbers(rows), of_numbers(count)};
}

NeighbourRows inputs_of(const CostGraph& graph, const std::vector<int64_t>& row) {
  return neighbours(graph, row, [&](int node, const auto& add) {
    for (const int tensor : graph.inputs(node))
      add(graph.tensors()[static_cast<size_t>(tensor)].producer);
  });
}

NeighbourRows outputs_of(const CostGraph& graph, const std::vector<int64_t>& row) {
  return neighbours(graph, row, [&](int node, const auto& add) {
    const auto [first, end] = graph.outputs(node);
    for (int tensor = first; tensor < end; ++tensor)
      for (const int reader : graph.tensors()[static_cast<size_t>(tensor)].readers) add(reader);
  });
}

torch::Tensor rows_of(const Columns& columns, const std::vector<int>& order) {
  torch::Tensor rows = torch::empty({std::ssize(order), std::ssize(columns)});
  float* next = rows.data_ptr<float>();
  for (const int node : order)
    for (const auto& column : columns)
      *next++ = static_cast<float>(column[static_cast<size_t>(node)]);
  return rows;
}

}  // namespace

NodeFeatures::NodeFeatures(const Simulator& simulator) {
  const CostGraph& graph = simulator.graph();
  Columns columns;
  for (Columns part : {times(simulator), transfers(simulator), bytes(graph), degrees(graph),
                       path_shares(simulator), memory_shares(simulator)})
    std::ranges::move(part, std::back_inserter(columns));
  values = rows_of(columns, graph.order());

  const PlacementEntities of_graph(graph);
  std::vector<int64_t> rows(static_cast<size_t>(graph.size())), hashes, numbers, first;
  for (const int node : graph.order()) {
    rows[static_cast<size_t>(node)] = std::ssize(hashes);
    hashes.push_back(static_cast<int64_t>(hash_string(graph.nodes()[static_cast<size_t>(node)].op) %
                                          static_cast<uint64_t>(kOperatorNumbers)));
    numbers.push_back(of_graph.of(node));
  }
  operators = of_numbers(hashes);
  entity = of_numbers(numbers);
  for (int one = 0; one < of_graph.size(); ++one)
    first.push_back(rows[static_cast<size_t>(of_graph.nodes(one).front())]);
  first_of_entity = of_numbers(first);
  nodes_of_entity = torch::bincount(entity, {}, of_graph.size()).to(torch::kFloat).unsqueeze(1);
  row = of_numbers(rows);
  inputs = inputs_of(graph, rows);
  outputs = outputs_of(graph, rows);
}

torch::Tensor NodeFeatures::mean_of_entities(const torch::Tensor& rows) const {
  std::vector<int64_t> sizes = rows.sizes().vec();
  sizes[sizes.size() - 2] = entities();
  return torch::zeros(sizes, rows.options()).index_add(-2, entity, rows) / nodes_of_entity;
}

torch::Tensor NodeFeatures::of_nodes(const torch::Tensor& entities) const {
  return entities.index_select(-2, entity);
}

}  // namespace reverie
