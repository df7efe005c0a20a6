#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "core/cost/measured.h"

namespace reverie {

/// The run time of a rewritten graph over that of its original.
struct RelativeTime {
  double ratio = 1;
  int64_t measurements = 0;  ///< taken for it; 0 where it was known
};

/// Times graphs end to end, each in turn with its original (PairedTimer), which stays ready. A
/// graph that was timed before is not timed again unless that is asked for. Not for use by several
/// threads at once.
class RelativeTimes {
 public:
  explicit RelativeTimes(const EndToEndOptions& options);
  ~RelativeTimes();

  /// InputError when one of them cannot be run. `anew`: timed again, the original made ready again,
  /// too, so that several are independent of each other. Later the median of all is what is known.
  RelativeTime of(const Graph& original, const Graph& graph, bool anew = false);

 private:
  struct Original;
  Original& find_original(const Graph& graph);

  EndToEndOptions options_;
  std::unordered_multimap<uint64_t, std::unique_ptr<Original>> originals_;  // by hash
};

}  // namespace reverie
