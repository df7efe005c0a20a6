#include "datasets/rollout_writer.h"

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "core/base/error.h"
#include "core/base/files.h"
#include "datasets/shard.h"

namespace reverie {
namespace {

namespace fs = std::filesystem;

void remove_leftovers(const std::string& directory) {
  std::vector<fs::path> leftovers;
  for (const auto& entry : fs::directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("shard-") && name.ends_with(".part")) leftovers.push_back(entry.path());
  }
  for (const fs::path& path : leftovers) fs::remove(path);
}

}  // namespace

RolloutWriter::RolloutWriter(std::string directory, RolloutInfo info)
    : directory_(std::move(directory)), info_(std::move(info)), states_(info_.spec) {
  REVERIE_CHECK(info_.shard_episodes > 0);
  create_directory(directory_);
  remove_leftovers(directory_);
  for (int number = 0; next_ < info_.planned_episodes; ++number) {
    const std::string path = directory_ + "/" + shard_name(number);
    if (!file_exists(path)) return;
    Shard shard = read_shard(path);
    if (shard.info != info_)
      throw InputError("{}: belongs to another collection; give another --out", path);
    std::move(shard.episodes.begin(), shard.episodes.end(), std::back_inserter(found_));
    next_ = std::min(next_ + info_.shard_episodes, info_.planned_episodes);
  }
}

void RolloutWriter::append(RecordedEpisode recorded) {
  REVERIE_CHECK_LT(next_, info_.planned_episodes);
  Episode& episode = recorded.episode;
  REVERIE_CHECK_EQ(recorded.states.size(), episode.steps.size() + 1);
  REVERIE_CHECK_EQ(episode.objective.size(), recorded.states.size());
  for (size_t t = 0; t < episode.steps.size(); ++t)
    episode.steps[t].state = states_.add(recorded.states[t]);
  episode.final_state = states_.add(recorded.states.back());
  episodes_.push_back(std::move(episode));
  splits_.push_back(recorded.split);
  ++next_;
  if (static_cast<int>(episodes_.size()) == info_.shard_episodes || next_ == info_.planned_episodes)
    write_shard();
}

void RolloutWriter::write_shard() {
  Shard shard{info_, next_ - static_cast<int>(episodes_.size()), std::move(episodes_),
              std::move(splits_), states_.take()};
  const std::string bytes = shard_bytes(shard);
  write_file(directory_ + "/" + shard_name(shard.first_episode / info_.shard_episodes), bytes);
  bytes_ += static_cast<int64_t>(bytes.size());
  episodes_.clear();
  splits_.clear();
}

}  // namespace reverie
