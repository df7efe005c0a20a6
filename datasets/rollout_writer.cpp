#include "datasets/rollout_writer.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "core/base/error.h"
#include "core/base/files.h"
#include "datasets/shard.h"

namespace reverie {
namespace {

namespace fs = std::filesystem;

/// What interrupted writers of these shards left aside.
void remove_leftovers(const std::string& directory, int first, int end) {
  constexpr std::string_view kPrefix = "shard-";
  std::vector<fs::path> leftovers;
  for (const auto& entry : fs::directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix) || !name.ends_with(".part")) continue;
    int number = -1;
    std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), number);
    if (number >= first && number < end) leftovers.push_back(entry.path());
  }
  for (const fs::path& path : leftovers) fs::remove(path);
}

}  // namespace

ShardBuilder::ShardBuilder(RolloutInfo info) : info_(std::move(info)), states_(info_.spec) {
  REVERIE_CHECK(info_.shard_episodes > 0);
}

void ShardBuilder::add(RecordedEpisode recorded) {
  Episode& episode = recorded.episode;
  REVERIE_CHECK_EQ(recorded.states.size(), episode.steps.size() + 1);
  REVERIE_CHECK_EQ(episode.objective.size(), recorded.states.size());
  for (size_t t = 0; t < episode.steps.size(); ++t)
    episode.steps[t].state = states_.add(recorded.states[t]);
  episode.final_state = states_.add(recorded.states.back());
  episodes_.push_back(std::move(episode));
  splits_.push_back(recorded.split);
}

std::string ShardBuilder::take(int first_episode) {
  return shard_bytes({info_, first_episode, std::exchange(episodes_, {}),
                      std::exchange(splits_, {}), states_.take()});
}

RolloutWriter::RolloutWriter(std::string directory, RolloutInfo info, Part part)
    : directory_(std::move(directory)), shard_(std::move(info)) {
  create_directory(directory_);
  const int planned = shard_.info().planned_episodes, each = shard_.info().shard_episodes;
  const auto [first, end] = part.range((planned + each - 1) / each);
  first_ = first * each;
  end_ = std::min(end * each, planned);
  remove_leftovers(directory_, first, end);
  for (int number = first; number < end; ++number) look_for_shard(number);
}

void RolloutWriter::look_for_shard(int number) {
  const int each = shard_.info().shard_episodes, first = number * each;
  const std::string path = directory_ + "/" + shard_name(number);
  if (!file_exists(path)) {
    for (int episode = first; episode < std::min(first + each, end_); ++episode)
      missing_.push_back(episode);
    return;
  }
  Shard shard = read_shard(path);
  if (shard.info != shard_.info())
    throw InputError("{}: belongs to another collection; give another --out", path);
  for (size_t e = 0; e < shard.episodes.size(); ++e)
    found_.emplace(first + static_cast<int>(e), std::move(shard.episodes[e]));
}

void RolloutWriter::append(RecordedEpisode recorded) {
  REVERIE_CHECK(appended_ < missing_.size());
  shard_.add(std::move(recorded));
  const int next = missing_[appended_++] + 1, each = shard_.info().shard_episodes;
  if (next % each != 0 && next != end_) return;
  const int number = (next - 1) / each;
  const std::string bytes = shard_.take(number * each);
  write_file(directory_ + "/" + shard_name(number), bytes);
  bytes_ += static_cast<int64_t>(bytes.size());
}

}  // namespace reverie
