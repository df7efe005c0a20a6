#include "env/placement/machine/stream_steps.h"

#include <algorithm>

#include "core/base/error.h"

namespace reverie {
namespace {

class StepWriter {
 public:
  StepWriter(const CostGraph& graph, const OrderByDevice& order)
      : graph_(graph),
        order_(order),
        next_(order.size(), 0),
        done_(order.size(), Done(order.size(), 0)),
        step_of_(static_cast<size_t>(graph.size()), -1) {}

  std::vector<StreamStep> write() && {
    for (bool went_on = true; went_on;) {
      went_on = false;
      for (size_t stream = 0; stream < order_.size(); ++stream)
        for (; next_[stream] < order_[stream].size() && is_ready(order_[stream][next_[stream]]);
             ++next_[stream]) {
          add(order_[stream][next_[stream]], stream);
          went_on = true;
        }
    }
    for (size_t stream = 0; stream < order_.size(); ++stream)
      REVERIE_CHECK_EQ(next_[stream], order_[stream].size());
    return std::move(steps_);
  }

 private:
  /// By stream: how many of its steps are surely done.
  using Done = std::vector<int>;

  bool is_input(int node) const { return graph_.nodes()[static_cast<size_t>(node)].op == "Input"; }

  /// The steps that made what a node reads, the last first.
  std::vector<int> steps_read(int node) const {
    std::vector<int> steps;
    for (const int tensor : graph_.inputs(node))
      if (const int producer = graph_.tensors()[static_cast<size_t>(tensor)].producer;
          !is_input(producer))
        steps.push_back(step_of_[static_cast<size_t>(producer)]);
    std::ranges::sort(steps, std::greater());
    return steps;
  }

  bool is_ready(int node) const { return steps_read(node).empty() || steps_read(node).back() >= 0; }

  void add(int node, size_t stream) {
    if (is_input(node)) return;
    StreamStep step{.node = node, .stream = static_cast<int>(stream), .after = {}};
    Done& done = done_[stream];
    for (const int read : steps_read(node)) {
      const auto place = static_cast<size_t>(read);
      const auto other = static_cast<size_t>(steps_[place].stream);
      if (done[other] >= when_done_[place][other]) continue;
      for (size_t i = 0; i < done.size(); ++i) done[i] = std::max(done[i], when_done_[place][i]);
      step.after.push_back(steps_[place].node);
      steps_[place].is_awaited = true;
    }
    ++done[stream];
    step_of_[static_cast<size_t>(node)] = static_cast<int>(steps_.size());
    when_done_.push_back(done);
    steps_.push_back(std::move(step));
  }

  const CostGraph& graph_;
  const OrderByDevice& order_;
  std::vector<size_t> next_;  ///< by stream: places in its order
  std::vector<Done> done_;    ///< by stream: before what comes next there
  std::vector<int> step_of_;  ///< by node; -1: none yet
  std::vector<StreamStep> steps_;
  std::vector<Done> when_done_;  ///< by step
};

}  // namespace

std::vector<StreamStep> stream_steps(const CostGraph& graph, const OrderByDevice& order) {
  return StepWriter(graph, order).write();
}

}  // namespace reverie
