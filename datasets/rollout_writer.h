#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/base/part.h"
#include "datasets/rollouts.h"
#include "datasets/state_table.h"

namespace reverie {

/// An episode on its way to disk: the numbers of its states are those in `states`.
struct RecordedEpisode {
  Episode episode;
  Split split = Split::kTrain;
  std::vector<EncodedState> states;  ///< T + 1, one for each step and the final one
};

/// Puts episodes together to a shard.
class ShardBuilder {
 public:
  explicit ShardBuilder(RolloutInfo info);
  const RolloutInfo& info() const { return info_; }
  void add(RecordedEpisode recorded);
  /// The bytes of the shard that begins with the episode of this number, of all that were added
  /// since the last one.
  std::string take(int first_episode);

 private:
  RolloutInfo info_;
  std::vector<Episode> episodes_;
  std::vector<Split> splits_;
  StateTableBuilder states_;
};

/// Writes the shards of a rollout directory, `shard_episodes` episodes to a file. A shard is a
/// function of the information and of its episodes alone, and appears whole by rename: an
/// interrupted collection loses at most the shard it was filling. Several processes may write one
/// directory, a part of the shards each.
class RolloutWriter {
 public:
  /// The directory must exist. Shards of the part that are there already must be of the same
  /// collection, and whole; InputError otherwise. Removes what an interrupted writer of these
  /// shards left aside.
  RolloutWriter(std::string directory, RolloutInfo info, Part part = {});

  /// The episodes of the part: from the first to before the second.
  std::pair<int, int> episodes() const { return {first_, end_}; }
  /// Those that are not on disk, ascending. They fill whole shards.
  const std::vector<int>& missing() const { return missing_; }
  /// Those that were on disk, by number, without what they say of states.
  const std::map<int, Episode>& found() const { return found_; }
  /// Episodes come in the order of `missing`.
  void append(RecordedEpisode recorded);
  /// Bytes of the shards that this writer wrote.
  int64_t bytes_written() const { return bytes_; }

 private:
  void look_for_shard(int number);

  std::string directory_;
  ShardBuilder shard_;
  int first_ = 0, end_ = 0;
  size_t appended_ = 0;
  int64_t bytes_ = 0;
  std::vector<int> missing_;
  std::map<int, Episode> found_;
};

}  // namespace reverie
