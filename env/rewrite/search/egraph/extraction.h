#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

namespace reverie {

/// Choosing one graph out of an e-graph: for each class that is needed a node that computes it, so
/// that the nodes chosen cost least together. A node that computes several needed classes, or one
/// that is needed twice, counts once. Classes and nodes are numbered; work on constants is left
/// out, since it is free.
struct ExtractionProblem {
  struct Node {
    int64_t cost = 0;          ///< at least 0
    std::vector<int> inputs;   ///< classes, ascending, each once
    std::vector<int> outputs;  ///< classes, ascending, each once, at least one
    std::vector<int> weights;  ///< constants that are stored for it
  };
  std::vector<Node> nodes;
  std::vector<std::vector<int>> members;  ///< by class: nodes that compute it, ascending
  std::vector<int> roots;                 ///< classes that are needed
  std::vector<int64_t> weight_bytes;      ///< by constant
  /// Most bytes that the weights of the nodes chosen may have together.
  int64_t weight_limit = std::numeric_limits<int64_t>::max();

  bool limited() const { return weight_limit != std::numeric_limits<int64_t>::max(); }
  int class_count() const { return static_cast<int>(members.size()); }
};

/// A node per class; -1: none. Entries of classes that are not needed do not matter.
using Selection = std::vector<int>;

/// Follows selections from the roots.
class Follower {
 public:
  explicit Follower(const ExtractionProblem& problem);
  /// What the nodes cost that are needed; nothing when a needed class has none, when a node needs
  /// itself, or when the weights exceed the limit.
  std::optional<int64_t> cost(const Selection& selection);
  /// The nodes that the last selection given to `cost` needs, inputs first; if it had a cost.
  const std::vector<int>& nodes() const { return order_; }

 private:
  bool follow(const Selection& selection, int root);

  const ExtractionProblem& problem_;
  std::vector<int> order_;
  std::vector<std::pair<int, size_t>> stack_;  // node, next input
  std::vector<int64_t> entered_;               // by node: run in which it was entered
  std::vector<int64_t> done_;
  std::vector<int64_t> stored_;  // by constant
  int64_t run_ = 0;
};

/// Work that can end early.
using OutOfTime = std::function<bool()>;

/// For every class the node with the least cost of node and inputs together, as if nothing were
/// shared (bottom-up, least first; Knuth, "A generalization of Dijkstra's algorithm", 1977).
/// Classes in `paid` keep their entry of `selection` and cost nothing. Never cyclic among classes
/// that are not paid. Exact on trees; where results are shared it counts them at each use, so that
/// of two products that are computed together at the price of one it sees only the dearer node.
Selection select_bottom_up(const ExtractionProblem& problem, const Selection& selection = {},
                           const std::vector<uint8_t>& paid = {});

/// Lowers the cost of `selection`, which must have one, until no step gains. A step takes a node
/// for all needed classes that it computes, with the least further inputs that it needs; a node
/// with several outputs also for what comes of them for free. Does not raise the cost.
Selection select_by_descent(const ExtractionProblem& problem, Selection selection,
                            const OutOfTime& out_of_time);

}  // namespace reverie
