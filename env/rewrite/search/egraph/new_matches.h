#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/rules/matcher.h"
#include "env/rewrite/search/egraph/egraph.h"

namespace reverie {

/// The matches of rules that an e-graph holds, each found once, while the e-graph grows. What has
/// changed stands in a list for each operator; each operator of a rule's pattern goes along the
/// list of its own at its own pace, and takes those matches in which no other node changed later.
/// So a match is found at the node of it that changed last, however far a rule is behind.
///
/// Matches that replace what is constant are left out, since no rule may.
class NewMatches {
 public:
  /// Both must outlive this.
  NewMatches(const EGraph& egraph, const MatchProgram& program);

  /// Notes what has changed: EGraph::take_changed().
  void note(std::span<const NodeId> changed);
  /// Looks at the next change for a rule, and gives up its matches beyond so many nodes tried for
  /// its operators, or when `stop`, which is asked now and then, says so.
  void look_on(int rule, int64_t most_tries, const std::function<bool()>& stop,
               const Matcher::Sink& sink);
  /// Whether nothing is left to look at for a rule.
  bool done(int rule) const;
  /// Whether some were given up.
  bool gave_up() const { return gave_up_; }
  /// Nodes tried so far.
  int64_t tried() const { return tried_; }

 private:
  struct Change {
    NodeId node;
    int64_t number = 0;
    Neighbours neighbours;  ///< over all nodes of the classes next to it
  };
  /// An operator of a pattern and where it stands in the list.
  struct Place {
    const OpSchema* op = nullptr;
    Neighbours needed;
    bool replaced = false;  ///< an output of it is
    size_t next = 0;
  };

  const std::vector<Change>& changes(const Place& place) const {
    return changes_[static_cast<size_t>(place.op->id)];
  }
  int64_t last_change(NodeId node) const { return last_change_[static_cast<size_t>(node.index)]; }
  Neighbours neighbours(NodeId node) const;
  bool concerns(const Change& change, const Place& place) const;

  const EGraph& egraph_;
  const MatchProgram& program_;
  OperatorIndex index_;
  Matcher matcher_;
  std::vector<std::vector<Place>> places_;    // by rule and operator of its pattern
  std::vector<std::vector<Change>> changes_;  // by OpSchema::id
  std::vector<int64_t> last_change_;          // by node: number
  int64_t count_ = 0;                         // of changes
  int64_t tried_ = 0;
  bool gave_up_ = false;
};

}  // namespace reverie
