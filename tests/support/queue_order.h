#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace reverie::testing {

/// What of the work in a device's queues is surely done before what other work: by the order in
/// each queue, and by waits for marks. Memory that one work writes and another reads or writes must
/// be used in such an order. By vector clocks (Mattern, "Virtual time and global states of
/// distributed systems", 1989).
class QueueOrder {
 public:
  /// How many works of queues are surely done; none of those that it does not name.
  using Clock = std::map<int, int64_t>;

  /// The number of a new queue.
  int add() {
    works_.push_back(0);
    done_.push_back(0);
    clocks_.emplace_back();
    return static_cast<int>(works_.size()) - 1;
  }
  /// One more work in a queue.
  void begin(int queue) { clock(queue)[queue] = ++works(queue); }
  const Clock& now(int queue) { return clock(queue); }
  /// What comes next in the queue comes after all that the clock says.
  void wait(int queue, const Clock& until) {
    for (const auto& [other, works] : until) {
      int64_t& known = clock(queue)[other];
      known = std::max(known, works);
    }
  }
  /// Whether all that a queue holds is surely done before what comes next in `queue`.
  bool has_joined(int queue, int other) { return is_done(queue, other, works(other)); }
  /// Everything is done before anything that comes.
  void meet() {
    done_ = works_;
    for (Clock& clock : clocks_) clock.clear();
    uses_.clear();
  }

  /// The work that was begun last in a queue uses memory: what is wrong with that, empty where
  /// nothing is.
  std::string use(int queue, const void* memory, bool writes) {
    Uses& uses = uses_[memory];
    std::string wrong = race(queue, writes, uses.writes, "writes");
    if (writes && wrong.empty()) wrong = race(queue, writes, uses.reads, "reads");
    (writes ? uses.writes : uses.reads)[queue] = works(queue);
    return wrong;
  }

 private:
  struct Uses {
    Clock reads, writes;  ///< the last works that did so
  };

  int64_t& works(int queue) { return works_[static_cast<size_t>(queue)]; }
  Clock& clock(int queue) { return clocks_[static_cast<size_t>(queue)]; }
  bool is_done(int queue, int other, int64_t works) {
    if (works <= done_[static_cast<size_t>(other)]) return true;
    const auto known = clock(queue).find(other);
    return known != clock(queue).end() && known->second >= works;
  }
  std::string race(int queue, bool writes, const Clock& earlier, const char* how) {
    for (const auto& [other, works] : earlier)
      if (!is_done(queue, other, works))
        return fmt::format("queue {} {} what queue {} {} at any time", queue,
                           writes ? "writes" : "reads", other, how);
    return "";
  }

  std::vector<int64_t> works_, done_;  ///< by queue: so far, and when all met last
  std::vector<Clock> clocks_;          ///< by queue, since then
  std::map<const void*, Uses> uses_;   ///< likewise
};

}  // namespace reverie::testing
