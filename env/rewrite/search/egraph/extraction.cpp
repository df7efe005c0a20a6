#include "env/rewrite/search/egraph/extraction.h"

#include <algorithm>
#include <queue>
#include <unordered_set>
#include <utility>

#include "core/base/error.h"

namespace reverie {

Follower::Follower(const ExtractionProblem& problem)
    : problem_(problem),
      entered_(problem.nodes.size(), 0),
      done_(problem.nodes.size(), 0),
      stored_(problem.weight_bytes.size(), 0) {}

bool Follower::follow(const Selection& selection, int root) {
  const auto enter = [&](int needed) {
    const int node = selection[static_cast<size_t>(needed)];
    if (node < 0) return false;
    const auto i = static_cast<size_t>(node);
    if (done_[i] == run_) return true;
    if (entered_[i] == run_) return false;  // it needs itself
    entered_[i] = run_;
    stack_.emplace_back(node, 0);
    return true;
  };
  stack_.clear();
  if (!enter(root)) return false;
  while (!stack_.empty()) {
    const auto i = static_cast<size_t>(stack_.back().first);
    const std::vector<int>& inputs = problem_.nodes[i].inputs;
    if (stack_.back().second < inputs.size()) {
      if (!enter(inputs[stack_.back().second++])) return false;
      continue;
    }
    done_[i] = run_;
    order_.push_back(stack_.back().first);
    stack_.pop_back();
  }
  return true;
}

std::optional<int64_t> Follower::cost(const Selection& selection) {
  ++run_;
  order_.clear();
  for (const int root : problem_.roots)
    if (!follow(selection, root)) return {};
  int64_t cost = 0;
  int64_t bytes = 0;
  for (const int node : order_) {
    cost += problem_.nodes[static_cast<size_t>(node)].cost;
    for (const int weight : problem_.nodes[static_cast<size_t>(node)].weights)
      if (std::exchange(stored_[static_cast<size_t>(weight)], run_) != run_)
        bytes += problem_.weight_bytes[static_cast<size_t>(weight)];
  }
  if (bytes > problem_.weight_limit) return {};
  return cost;
}

Selection select_bottom_up(const ExtractionProblem& problem, const Selection& selection,
                           const std::vector<uint8_t>& paid) {
  struct Offer {
    double cost;
    int node;
    bool operator>(const Offer& other) const {
      return cost != other.cost ? cost > other.cost : node > other.node;
    }
  };
  Selection result(problem.members.size(), -1);
  std::vector<std::vector<int>> users(problem.members.size());
  std::vector<size_t> missing(problem.nodes.size());
  std::vector<double> sums(problem.nodes.size());
  std::priority_queue<Offer, std::vector<Offer>, std::greater<>> offers;
  for (size_t i = 0; i < problem.nodes.size(); ++i) {
    for (const int input : problem.nodes[i].inputs)
      users[static_cast<size_t>(input)].push_back(static_cast<int>(i));
    missing[i] = problem.nodes[i].inputs.size();
    sums[i] = static_cast<double>(problem.nodes[i].cost);
    if (missing[i] == 0) offers.push({sums[i], static_cast<int>(i)});
  }
  const auto reach = [&](int reached, int node, double cost) {
    result[static_cast<size_t>(reached)] = node;
    for (const int user : users[static_cast<size_t>(reached)]) {
      const auto i = static_cast<size_t>(user);
      sums[i] += cost;
      if (--missing[i] == 0) offers.push({sums[i], user});
    }
  };
  for (int c = 0; c < problem.class_count(); ++c)
    if (static_cast<size_t>(c) < paid.size() && paid[static_cast<size_t>(c)])
      reach(c, selection[static_cast<size_t>(c)], 0);
  while (!offers.empty()) {
    const Offer offer = offers.top();
    offers.pop();
    for (const int output : problem.nodes[static_cast<size_t>(offer.node)].outputs)
      if (result[static_cast<size_t>(output)] < 0) reach(output, offer.node, offer.cost);
  }
  return result;
}

namespace {

/// One selection on its way down.
class Descent {
 public:
  Descent(const ExtractionProblem& problem, Selection selection)
      : problem_(problem), follower_(problem), selection_(std::move(selection)) {
    const auto cost = follower_.cost(selection_);
    REVERIE_CHECK(cost.has_value(), "the selection to improve is none");
    cost_ = *cost;
    find_riders();
  }

  /// Tries every node once; whether some step gained.
  bool sweep(const OutOfTime& out_of_time) {
    find_needed();
    selection_ = select_bottom_up(problem_, selection_, needed_);
    bool gained = false;
    for (size_t node = 0; node < problem_.nodes.size() && !out_of_time(); ++node)
      gained |= attempt(static_cast<int>(node));
    return gained;
  }

  Selection take() { return std::move(selection_); }

 private:
  void find_needed() {
    needed_.assign(problem_.members.size(), 0);
    for (const int root : problem_.roots) needed_[static_cast<size_t>(root)] = 1;
    REVERIE_CHECK(follower_.cost(selection_).has_value());
    for (const int node : follower_.nodes())
      for (const int input : problem_.nodes[static_cast<size_t>(node)].inputs)
        needed_[static_cast<size_t>(input)] = 1;
  }

  /// For each node with several outputs what comes of them for free or by parting them further.
  void find_riders() {
    std::vector<std::vector<int>> users(problem_.members.size());
    for (size_t i = 0; i < problem_.nodes.size(); ++i) {
      const ExtractionProblem::Node& node = problem_.nodes[i];
      if (node.inputs.size() == 1 && (node.cost == 0 || node.outputs.size() > 1))
        users[static_cast<size_t>(node.inputs[0])].push_back(static_cast<int>(i));
    }
    riders_.resize(problem_.nodes.size());
    for (size_t i = 0; i < problem_.nodes.size(); ++i) {
      const std::vector<int>& outputs = problem_.nodes[i].outputs;
      if (outputs.size() < 2) continue;
      std::unordered_set<int> known(outputs.begin(), outputs.end());
      std::vector<int> pending = outputs;
      for (size_t next = 0; next < pending.size(); ++next)
        for (const int user : users[static_cast<size_t>(pending[next])])
          for (const int output : problem_.nodes[static_cast<size_t>(user)].outputs)
            if (known.insert(output).second) {
              riders_[i].emplace_back(output, user);
              pending.push_back(output);
            }
    }
  }

  bool attempt(int node) {
    const auto i = static_cast<size_t>(node);
    bool matters = false;
    for (const int output : problem_.nodes[i].outputs) matters |= choose(output, node);
    if (matters && accept()) return true;
    take_back();
    if (riders_[i].empty()) return false;
    matters = false;
    for (const int output : problem_.nodes[i].outputs) {
      replace(output, node);
      matters |= needed_[static_cast<size_t>(output)] != 0;
    }
    for (const auto& [output, rider] : riders_[i]) {
      matters |= needed_[static_cast<size_t>(output)] != 0;
      replace(output, rider);
    }
    if (matters && accept()) return true;
    take_back();
    return false;
  }

  /// Takes the node for a class that is needed; whether that changes anything.
  bool choose(int wanted, int node) {
    if (!needed_[static_cast<size_t>(wanted)] || selection_[static_cast<size_t>(wanted)] == node)
      return false;
    replace(wanted, node);
    return true;
  }

  void replace(int wanted, int node) {
    replaced_.emplace_back(wanted, selection_[static_cast<size_t>(wanted)]);
    selection_[static_cast<size_t>(wanted)] = node;
  }

  bool accept() {
    const auto cost = follower_.cost(selection_);
    if (!cost || *cost >= cost_) return false;
    cost_ = *cost;
    replaced_.clear();
    find_needed();
    return true;
  }

  void take_back() {
    for (; !replaced_.empty(); replaced_.pop_back())
      selection_[static_cast<size_t>(replaced_.back().first)] = replaced_.back().second;
  }

  const ExtractionProblem& problem_;
  Follower follower_;
  Selection selection_;
  int64_t cost_ = 0;
  std::vector<uint8_t> needed_;                           // by class
  std::vector<std::vector<std::pair<int, int>>> riders_;  // by node: class, node
  std::vector<std::pair<int, int>> replaced_;             // class, node before
};

}  // namespace

Selection select_by_descent(const ExtractionProblem& problem, Selection selection,
                            const OutOfTime& out_of_time) {
  Descent descent(problem, std::move(selection));
  while (descent.sweep(out_of_time)) {
  }
  return descent.take();
}

}  // namespace reverie
