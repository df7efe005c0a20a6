#include "core/onnx/sort_nodes.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/output.h"
#include "core/onnx/captures.h"
#include "core/onnx/subgraphs.h"

namespace reverie::proto {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

class Sorting {
 public:
  explicit Sorting(Nodes* nodes) : nodes_(*nodes), sources_(static_cast<size_t>(nodes->size())) {
    for (int i = 0; i < nodes_.size(); ++i)
      for (const auto& output : nodes_[i].output()) add_producer(output, i);
    for (int i = 0; i < nodes_.size(); ++i) {
      for (const auto& input : nodes_[i].input()) add_source(input, i);
      for (const std::string& name : captured_names(nodes_[i])) add_source(name, i);
    }
  }

  bool run() {
    if (is_sorted_) return false;
    state_.assign(sources_.size(), State::kNew);
    for (int i = 0; i < nodes_.size(); ++i) place(i);
    Nodes sorted;
    for (const int i : order_) sorted.Add()->Swap(nodes_.Mutable(i));
    nodes_.Swap(&sorted);
    return true;
  }

 private:
  enum class State { kNew, kOpen, kPlaced };
  struct Step {
    int node;
    size_t next_source = 0;
  };

  void add_producer(const std::string& output, int node) {
    if (output.empty()) return;
    const auto [known, added] = producers_.emplace(output, node);
    if (!added)
      throw InputError("value '{}' has two sources: {} and {}", readable(output),
                       described(nodes_[known->second]), described(nodes_[node]));
  }

  void add_source(const std::string& name, int node) {
    const auto producer = producers_.find(name);
    if (producer == producers_.end()) return;
    sources_[static_cast<size_t>(node)].push_back(producer->second);
    is_sorted_ = is_sorted_ && producer->second < node;
  }

  /// Behind its sources.
  void place(int node) {
    path_.assign(1, {node});
    while (!path_.empty()) {
      Step& step = path_.back();
      State& state = state_[static_cast<size_t>(step.node)];
      const std::vector<int>& sources = sources_[static_cast<size_t>(step.node)];
      if (state == State::kPlaced) {
        path_.pop_back();
      } else if (step.next_source < sources.size()) {
        state = State::kOpen;
        enter(sources[step.next_source++]);
      } else {
        state = State::kPlaced;
        order_.push_back(step.node);
      }
    }
  }

  void enter(int node) {
    if (state_[static_cast<size_t>(node)] == State::kOpen) refuse_cycle(node);
    path_.push_back({node});
  }

  [[noreturn]] void refuse_cycle(int node) const {
    constexpr ptrdiff_t kNamed = 8;
    const auto first = std::ranges::find(path_, node, &Step::node);
    std::string names;
    for (auto step = path_.rbegin(); step != std::make_reverse_iterator(first); ++step) {
      if (step - path_.rbegin() == kNamed) break;
      names += described(nodes_[step->node]) + ", ";
    }
    const ptrdiff_t others = path_.end() - first - kNamed;
    if (others > 0) names += fmt::format("{} others, ", others);
    names.resize(names.size() - 2);
    throw InputError("its nodes form a cycle, so that none can be first: {}", names);
  }

  Nodes& nodes_;
  std::unordered_map<std::string, int> producers_;
  std::vector<std::vector<int>> sources_;  // by node
  bool is_sorted_ = true;
  std::vector<State> state_;
  std::vector<Step> path_;
  std::vector<int> order_;
};

}  // namespace

bool sort_nodes(Nodes* nodes) {
  bool changed = false;
  for (auto& node : *nodes)
    for_each_subgraph(
        node, [&](onnx::GraphProto& graph) { changed |= sort_nodes(graph.mutable_node()); });
  return Sorting(nodes).run() || changed;
}

}  // namespace reverie::proto
