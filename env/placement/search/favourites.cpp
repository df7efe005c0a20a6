#include <OsiClpSolverInterface.hpp>
#include <algorithm>
#include <map>
#include <utility>

#include "core/base/error.h"
#include "env/placement/search/m_sct.h"
#include "env/placement/search/plan.h"

namespace reverie {
namespace {

/// Columns: x of each edge, then the start of each node, then the makespan. Times are in shares of
/// the sum of all.
class Program {
 public:
  explicit Program(const Simulator& simulator) : simulator_(simulator), graph_(simulator.graph()) {
    add_edges();
    int edge = 0;
    for (const auto& [ends, time] : edges_) {  // i ends, and what it sends arrives, before j starts
      add(start(ends.second), 1);
      add(start(ends.first), -1);
      add(edge++, -time / unit_);
      end_row(mean_cost(simulator_, ends.first) / unit_);
    }
    for (int node = 0; node < graph_.size(); ++node) {
      add(start(graph_.size()), 1);
      add(start(node), -1);
      end_row(mean_cost(simulator_, node) / unit_);
    }
    at_most_one_favourite();
  }

  std::vector<int> solve() const {
    const int columns = start(graph_.size()) + 1;
    CoinPackedMatrix matrix(false, row_.data(), column_.data(), value_.data(),
                            static_cast<CoinBigIndex>(value_.size()));
    matrix.setDimensions(static_cast<int>(lower_.size()), columns);
    const auto edges = static_cast<std::ptrdiff_t>(edges_.size());
    std::vector<double> low(static_cast<size_t>(columns), 0), high(low), costs(low);
    std::fill(high.begin(), high.begin() + edges, 1);
    std::fill(high.begin() + edges, high.end(), COIN_DBL_MAX);
    costs.back() = 1;
    const std::vector<double> upper(lower_.size(), COIN_DBL_MAX);
    OsiClpSolverInterface solver;
    solver.messageHandler()->setLogLevel(0);
    solver.loadProblem(matrix, low.data(), high.data(), costs.data(), lower_.data(), upper.data());
    solver.initialSolve();
    REVERIE_CHECK(solver.isProvenOptimal());
    constexpr double kHalf = 0.5 - 1e-6;  // values are exact to a tolerance only
    std::vector<int> favourites(static_cast<size_t>(graph_.size()), -1);
    const double* x = solver.getColSolution();
    for (const auto& [ends, time] : edges_)
      if (*x++ < kHalf) favourites[static_cast<size_t>(ends.first)] = ends.second;
    return favourites;
  }

 private:
  int start(int node) const { return static_cast<int>(edges_.size()) + node; }
  void add_edges() {
    for (int tensor = 0; tensor < std::ssize(graph_.tensors()); ++tensor) {
      const CostTensor& one = graph_.tensors()[static_cast<size_t>(tensor)];
      for (const int reader : one.readers)
        edges_[{one.producer, reader}] += mean_transfer(simulator_, tensor);
    }
    for (const auto& [ends, time] : edges_) unit_ += time;
    for (int node = 0; node < graph_.size(); ++node) unit_ += mean_cost(simulator_, node);
  }

  void at_most_one_favourite() {
    std::map<int, std::vector<int>> out, in;
    int edge = 0;
    for (const auto& [ends, time] : edges_) {
      out[ends.first].push_back(edge);
      in[ends.second].push_back(edge++);
    }
    for (const auto* side : {&out, &in})
      for (const auto& [node, edges] : *side) {
        for (const int one : edges) add(one, 1);
        end_row(static_cast<double>(edges.size()) - 1);
      }
  }

  void add(int column, double value) {
    row_.push_back(static_cast<int>(lower_.size()));
    column_.push_back(column);
    value_.push_back(value);
  }
  void end_row(double lower) { lower_.push_back(lower); }

  const Simulator& simulator_;
  const CostGraph& graph_;
  std::map<std::pair<int, int>, double> edges_;  ///< producer and reader; picoseconds
  double unit_ = 1;
  std::vector<int> row_, column_;
  std::vector<double> value_, lower_;
};

}  // namespace

std::vector<int> favourite_children(const Simulator& simulator) {
  if (simulator.graph().size() > kMostNodesForFavourites)
    throw InputError("m_sct takes too long for {} nodes: it can have up to {}",
                     simulator.graph().size(), kMostNodesForFavourites);
  return Program(simulator).solve();
}

}  // namespace reverie
