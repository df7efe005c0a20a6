#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "core/base/stop.h"
#include "core/rulekit/generate/values.h"

namespace reverie::generate {

/// Two graphs with the same value: the one that `application` completes, and that of `value` or,
/// where this is kNoValue, the one that `first` completes.
struct Candidate {
  Application application;
  ValueId value = kNoValue;
  Application first;
  bool operator==(const Candidate&) const = default;
};

struct LevelCounts {
  uint64_t graphs = 0;  ///< applications evaluated
  uint64_t values = 0;  ///< of which with a value not seen before
  uint64_t pairs = 0;   ///< of which with one seen before
  bool operator==(const LevelCounts&) const = default;
};

/// All graphs of a number of operators whose parts are first graphs of their values: what another
/// graph of such a part would add follows by replacing that part. An operator is not applied to a
/// value twice.
class Enumerator {
 public:
  /// Calls `progress` with the number of finished and of all steps of a level.
  Enumerator(ValueTable& values, int threads, const StopToken& stop,
             std::function<void(int64_t, int64_t)> progress);

  /// The parts of the work for a level, one after the other: graphs whose results have equal
  /// extents.
  size_t prepare(int level);
  /// Leaves out the first parts, which have been run before.
  void skip(size_t parts);
  /// Graphs of a part that share their value with an earlier one, in the order of the enumeration.
  /// `store`: their values become operands for the next level, else only graphs with the first
  /// inputs of each kind are made. Returns false when stopped; nothing has changed then.
  bool run(size_t part, bool store, std::vector<Candidate>& candidates, LevelCounts& counts);

 private:
  using Pairs = std::vector<std::pair<ValueId, ValueId>>;
  struct Job {
    uint8_t op = 0;
    uint16_t to = 0;
    bool ordered = false;  ///< only pairs with a before b
    const std::vector<ValueId>* a = nullptr;
    const std::vector<ValueId>* b = nullptr;
    const Pairs* pairs = nullptr;
    size_t begin = 0, end = 0;  ///< of `a` or `pairs`
  };
  struct Found {
    uint64_t fingerprint;
    Application application;
    uint16_t to;
  };

  void collect_buckets(int level);
  void add_inside(ValueId a);
  void add_unary(uint8_t op, int level);
  void add_binary(uint8_t op, int level);
  void add_pairs(uint8_t op, int i, int j);
  void add_job(Job job, size_t count, size_t each);
  std::vector<Found> produce(const Job& job, bool all) const;
  void store(const std::vector<Found>& fresh, std::vector<Candidate>& candidates, size_t from);

  ValueTable& values_;
  int threads_;
  StopToken stop_;
  std::function<void(int64_t, int64_t)> progress_;
  int level_ = 0;
  int64_t steps_ = 0, done_ = 0;
  /// By number of operators, then by extents.
  std::vector<std::map<uint16_t, std::vector<ValueId>>> buckets_;
  std::map<std::pair<uint16_t, uint16_t>, Pairs> inside_;
  /// By the extents of the result, joints apart.
  std::map<std::pair<uint8_t, std::array<uint8_t, 4>>, std::vector<Job>> jobs_;
};

}  // namespace reverie::generate
