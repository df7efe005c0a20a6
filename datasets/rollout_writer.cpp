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

RolloutWriter::RolloutWriter(std::string directory, RolloutInfo info, Part part)
    : directory_(std::move(directory)), info_(std::move(info)), states_(info_.spec) {
  REVERIE_CHECK(info_.shard_episodes > 0);
  create_directory(directory_);
  const int planned = info_.planned_episodes, each = info_.shard_episodes;
  const int shards = (planned + each - 1) / each;
  const auto [first, end] = part.range(shards);
  first_ = first * each;
  end_ = std::min(end * each, planned);
  remove_leftovers(directory_, first, end);
  for (int number = first; number < end; ++number) look_for_shard(number);
}

void RolloutWriter::look_for_shard(int number) {
  const int first = number * info_.shard_episodes;
  const std::string path = directory_ + "/" + shard_name(number);
  if (!file_exists(path)) {
    for (int episode = first; episode < std::min(first + info_.shard_episodes, end_); ++episode)
      missing_.push_back(episode);
    return;
  }
  Shard shard = read_shard(path);
  if (shard.info != info_)
    throw InputError("{}: belongs to another collection; give another --out", path);
  for (size_t e = 0; e < shard.episodes.size(); ++e)
    found_.emplace(first + static_cast<int>(e), std::move(shard.episodes[e]));
}

void RolloutWriter::append(RecordedEpisode recorded) {
  REVERIE_CHECK(appended_ < missing_.size());
  Episode& episode = recorded.episode;
  REVERIE_CHECK_EQ(recorded.states.size(), episode.steps.size() + 1);
  REVERIE_CHECK_EQ(episode.objective.size(), recorded.states.size());
  for (size_t t = 0; t < episode.steps.size(); ++t)
    episode.steps[t].state = states_.add(recorded.states[t]);
  episode.final_state = states_.add(recorded.states.back());
  episodes_.push_back(std::move(episode));
  splits_.push_back(recorded.split);
  const int number = missing_[appended_++];
  if ((number + 1) % info_.shard_episodes == 0 || number + 1 == end_)
    write_shard(number / info_.shard_episodes);
}

void RolloutWriter::write_shard(int number) {
  const Shard shard{info_, number * info_.shard_episodes, std::move(episodes_), std::move(splits_),
                    states_.take()};
  const std::string bytes = shard_bytes(shard);
  write_file(directory_ + "/" + shard_name(number), bytes);
  bytes_ += static_cast<int64_t>(bytes.size());
  episodes_.clear();
  splits_.clear();
}

}  // namespace reverie
