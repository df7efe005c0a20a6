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
  /// By queue: how many works of it are surely done.
  using Clock = std::vector<int64_t>;

  /// The number of a new queue.
  int add() {
    clocks_.emplace_back();
    return static_cast<int>(clocks_.size()) - 1;
  }
  /// One more work in a queue.
  void begin(int queue) { ++of(clocks_[static_cast<size_t>(queue)], queue); }
  Clock now(int queue) const { return clocks_[static_cast<size_t>(queue)]; }
  /// What comes next in the queue comes after all that the clock says.
  void wait(int queue, const Clock& until) {
    Clock& own = clocks_[static_cast<size_t>(queue)];
    own.resize(std::max(own.size(), until.size()));
    for (size_t i = 0; i < until.size(); ++i) own[i] = std::max(own[i], until[i]);
  }
  /// Whether all that a queue holds is surely done before what comes next in `queue`.
  bool has_joined(int queue, int other) {
    return of(clocks_[static_cast<size_t>(queue)], other) >=
           of(clocks_[static_cast<size_t>(other)], other);
  }
  /// Everything is done before anything that comes.
  void meet() {
    Clock all;
    for (const Clock& clock : clocks_) {
      all.resize(std::max(all.size(), clock.size()));
      for (size_t i = 0; i < clock.size(); ++i) all[i] = std::max(all[i], clock[i]);
    }
    for (Clock& clock : clocks_) clock = all;
    uses_.clear();
  }

  /// The work that was begun last in a queue uses memory: what is wrong with that, empty where
  /// nothing is.
  std::string use(int queue, const void* memory, bool writes) {
    Uses& uses = uses_[memory];
    std::string wrong = race(queue, writes, uses.writes, "writes");
    if (writes && wrong.empty()) wrong = race(queue, writes, uses.reads, "reads");
    Clock& known = writes ? uses.writes : uses.reads;
    of(known, queue) = of(clocks_[static_cast<size_t>(queue)], queue);
    return wrong;
  }

 private:
  struct Uses {
    Clock reads, writes;  ///< by queue: the last work that did so
  };

  static int64_t& of(Clock& clock, int queue) {
    const auto place = static_cast<size_t>(queue);
    if (clock.size() <= place) clock.resize(place + 1, 0);
    return clock[place];
  }
  std::string race(int queue, bool writes, const Clock& earlier, const char* how) {
    for (size_t other = 0; other < earlier.size(); ++other)
      if (earlier[other] > of(clocks_[static_cast<size_t>(queue)], static_cast<int>(other)))
        return fmt::format("queue {} {} what queue {} {} at any time", queue,
                           writes ? "writes" : "reads", other, how);
    return "";
  }

  std::vector<Clock> clocks_;
  std::map<const void*, Uses> uses_;
};

}  // namespace reverie::testing
