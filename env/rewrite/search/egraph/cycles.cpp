#include "env/rewrite/search/egraph/cycles.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace reverie {
namespace {

constexpr int kNever = std::numeric_limits<int>::max();

/// Classes as a graph: an edge from each input of a node to each of its outputs.
class ClassGraph {
 public:
  explicit ClassGraph(const ExtractionProblem& problem)
      : problem_(problem), users_(problem.members.size()) {
    for (size_t i = 0; i < problem.nodes.size(); ++i)
      for (const int input : problem.nodes[i].inputs)
        users_[static_cast<size_t>(input)].push_back(static_cast<int>(i));
  }

  const std::vector<int>& users(int of) const { return users_[static_cast<size_t>(of)]; }

  /// A number per class, equal where each can be reached from the other (Tarjan, SIAM J. Comput.
  /// 1972, without recursion).
  std::vector<int> components() const {
    const size_t count = problem_.members.size();
    std::vector<int> component(count, -1), index(count, -1), low(count, 0), open;
    std::vector<std::pair<int, size_t>> path;  // class, next successor
    int next_index = 0;
    int next_component = 0;
    const auto enter = [&](int at) {
      index[static_cast<size_t>(at)] = low[static_cast<size_t>(at)] = next_index++;
      open.push_back(at);
      path.emplace_back(at, 0);
    };
    const std::vector<std::vector<int>> successors = all_successors();
    for (int root = 0; root < static_cast<int>(count); ++root) {
      if (index[static_cast<size_t>(root)] >= 0) continue;
      enter(root);
      while (!path.empty()) {
        const int at = path.back().first;
        const auto i = static_cast<size_t>(at);
        if (path.back().second < successors[i].size()) {
          const int next = successors[i][path.back().second++];
          const auto j = static_cast<size_t>(next);
          if (index[j] < 0)
            enter(next);
          else if (component[j] < 0)
            low[i] = std::min(low[i], index[j]);
          continue;
        }
        path.pop_back();
        if (!path.empty()) {
          auto& above = low[static_cast<size_t>(path.back().first)];
          above = std::min(above, low[i]);
        }
        if (low[i] != index[i]) continue;
        for (int member = -1; member != at;) {
          member = open.back();
          open.pop_back();
          component[static_cast<size_t>(member)] = next_component;
        }
        ++next_component;
      }
    }
    return component;
  }

 private:
  std::vector<std::vector<int>> all_successors() const {
    std::vector<std::vector<int>> successors(users_.size());
    for (size_t c = 0; c < users_.size(); ++c)
      for (const int user : users_[c]) {
        const auto& outputs = problem_.nodes[static_cast<size_t>(user)].outputs;
        successors[c].insert(successors[c].end(), outputs.begin(), outputs.end());
      }
    return successors;
  }

  const ExtractionProblem& problem_;
  std::vector<std::vector<int>> users_;
};

/// Positions of the classes such that what `selection` takes for one reads only earlier ones;
/// kNever for classes that nothing computes.
std::vector<int> positions_of(const ExtractionProblem& problem, const Selection& selection) {
  std::vector<int> position(problem.members.size(), kNever);
  std::vector<uint8_t> entered(problem.members.size(), 0);
  std::vector<std::pair<int, size_t>> path;
  int next = 0;
  const auto enter = [&](int at) {
    if (selection[static_cast<size_t>(at)] < 0 ||
        std::exchange(entered[static_cast<size_t>(at)], 1) != 0)
      return;
    path.emplace_back(at, 0);
  };
  for (int root = 0; root < problem.class_count(); ++root) {
    enter(root);
    while (!path.empty()) {
      const auto i = static_cast<size_t>(path.back().first);
      const auto& inputs = problem.nodes[static_cast<size_t>(selection[i])].inputs;
      if (path.back().second < inputs.size()) {
        enter(inputs[path.back().second++]);
        continue;
      }
      position[i] = next++;
      path.pop_back();
    }
  }
  return position;
}

class CycleFilter {
 public:
  CycleFilter(const ExtractionProblem& problem, const Selection& selection)
      : problem_(problem),
        graph_(problem),
        component_(graph_.components()),
        seen_(problem.members.size(), 0) {
    std::vector<uint8_t> needed(problem.members.size(), 0);
    Follower follower(problem);
    if (follower.cost(selection))
      for (const int node : follower.nodes())
        for (const int output : problem.nodes[static_cast<size_t>(node)].outputs)
          if (selection[static_cast<size_t>(output)] == node)
            needed[static_cast<size_t>(output)] = 1;
    position_ = positions_of(problem, select_bottom_up(problem, selection, needed));
  }

  std::vector<std::vector<uint8_t>> run() {
    std::vector<std::pair<int, size_t>> doubtful;  // node, entry of its outputs
    for (size_t i = 0; i < problem_.nodes.size(); ++i) {
      const ExtractionProblem::Node& node = problem_.nodes[i];
      allowed_.emplace_back(node.outputs.size(), 0);
      const int after = last_input(node);
      if (after == kNever) continue;  // nothing computes what it reads
      for (size_t k = 0; k < node.outputs.size(); ++k) {
        if (position_[static_cast<size_t>(node.outputs[k])] > after || !on_cycle(node, k))
          allowed_[i][k] = 1;
        else
          doubtful.emplace_back(static_cast<int>(i), k);
      }
    }
    for (const auto& [node, k] : doubtful)
      if (!closes_cycle(problem_.nodes[static_cast<size_t>(node)], k))
        allowed_[static_cast<size_t>(node)][k] = 1;
    return std::move(allowed_);
  }

 private:
  int last_input(const ExtractionProblem::Node& node) const {
    int last = -1;
    for (const int input : node.inputs)
      last = std::max(last, position_[static_cast<size_t>(input)]);
    return last;
  }

  bool on_cycle(const ExtractionProblem::Node& node, size_t k) const {
    const int own = component_[static_cast<size_t>(node.outputs[k])];
    return std::any_of(node.inputs.begin(), node.inputs.end(),
                       [&](int input) { return component_[static_cast<size_t>(input)] == own; });
  }

  /// Whether what is allowed leads from output k to an input of the node.
  bool closes_cycle(const ExtractionProblem::Node& node, size_t k) {
    ++run_;
    const int from = node.outputs[k];
    const int own = component_[static_cast<size_t>(from)];
    std::vector<int> pending = {from};
    seen_[static_cast<size_t>(from)] = run_;
    while (!pending.empty()) {
      const int at = pending.back();
      pending.pop_back();
      if (std::binary_search(node.inputs.begin(), node.inputs.end(), at)) return true;
      for (const int user : graph_.users(at)) {
        const auto& outputs = problem_.nodes[static_cast<size_t>(user)].outputs;
        for (size_t o = 0; o < outputs.size(); ++o)
          if (allowed_[static_cast<size_t>(user)][o] &&
              component_[static_cast<size_t>(outputs[o])] == own &&
              std::exchange(seen_[static_cast<size_t>(outputs[o])], run_) != run_)
            pending.push_back(outputs[o]);
      }
    }
    return false;
  }

  const ExtractionProblem& problem_;
  ClassGraph graph_;
  std::vector<int> component_;
  std::vector<int> position_;
  std::vector<std::vector<uint8_t>> allowed_;
  std::vector<int64_t> seen_;
  int64_t run_ = 0;
};

}  // namespace

std::vector<std::vector<uint8_t>> allow_without_cycles(const ExtractionProblem& problem,
                                                       const Selection& selection) {
  return CycleFilter(problem, selection).run();
}

}  // namespace reverie
