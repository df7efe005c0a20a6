#pragma once

#include <condition_variable>
#include <cstdint>
#include <future>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/rulekit/taso/import.h"

namespace reverie {

/// What importing and proving a rule came to.
struct TestedRule {
  std::string text;       ///< with its proof; empty where the rule is refused
  std::string refusal;    ///< why
  bool narrowed = false;  ///< it holds under a condition that its graphs do not state
};

/// Imports and proves generated rules, each once, on `threads` threads: that of the caller, and
/// others that work ahead on what was announced. What a test comes to depends on the rule, its
/// number and the seed alone.
class RuleTester {
 public:
  RuleTester(uint64_t seed, int threads);
  /// What is begun is ended, the rest left.
  ~RuleTester();

  /// Says that the rule of that number will be tested. A number always stands for the same rule.
  void announce(size_t number, const TasoRule& rule);
  /// Of an announced rule. Where another thread is at it, tests one of those that wait meanwhile.
  /// Throws what testing it threw. The reference is valid as long as the tester.
  const TestedRule& test(size_t number);

 private:
  struct Work {
    std::packaged_task<TestedRule()> task;
    std::shared_future<TestedRule> result;
    bool begun = false;
  };

  /// Takes and runs the last announced one that waits; nothing where none does.
  void run_waiting(std::unique_lock<std::mutex>& lock);
  TestedRule tested(size_t number, const TasoRule& rule) const;
  void serve();

  const TasoImportOptions options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<size_t, Work> work_;
  std::vector<Work*> waiting_;  ///< announced; some may be begun by now
  bool stop_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace reverie
