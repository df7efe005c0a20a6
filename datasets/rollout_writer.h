#pragma once

#include <string>
#include <vector>

#include "datasets/rollouts.h"
#include "datasets/state_table.h"

namespace reverie {

/// An episode on its way to disk: the numbers of its states are those in `states`.
struct RecordedEpisode {
  Episode episode;
  Split split = Split::kTrain;
  std::vector<EncodedState> states;  ///< T + 1, one for each step and the final one
};

/// Appends episodes to a rollout directory, `shard_episodes` to a file. A shard is a function of
/// the information and of its episodes alone, and appears whole by rename: an interrupted
/// collection loses at most the shard it was filling and goes on with `next_episode`.
class RolloutWriter {
 public:
  /// The directory must exist. Shards that are there already must be of the same collection, and
  /// whole; InputError otherwise. Removes what an interrupted writer left aside.
  RolloutWriter(std::string directory, RolloutInfo info);

  /// The first episode that is not on disk; all of them when it equals planned_episodes.
  int next_episode() const { return next_; }
  /// Those that were on disk, without what they say of states.
  const std::vector<Episode>& found() const { return found_; }
  /// Episodes come in order, from next_episode on; the last planned one completes the last shard.
  void append(RecordedEpisode recorded);
  /// Bytes of the shards that this writer wrote.
  int64_t bytes_written() const { return bytes_; }

 private:
  void write_shard();

  std::string directory_;
  RolloutInfo info_;
  int next_ = 0;
  int64_t bytes_ = 0;
  std::vector<Episode> found_;
  std::vector<Episode> episodes_;
  std::vector<Split> splits_;
  StateTableBuilder states_;
};

}  // namespace reverie
