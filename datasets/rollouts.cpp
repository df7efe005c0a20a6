#include "datasets/rollouts.h"

#include <filesystem>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "datasets/shard.h"

namespace reverie {
namespace {

/// Paths of the shards of a directory, in order; InputError when there is none or one is missing.
std::vector<std::string> shard_paths(const std::string& directory) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::is_directory(directory, error))
    throw InputError("{}: is no directory; `reverie collect` makes rollouts", directory);
  size_t found = 0;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    found += name.starts_with("shard-") && name.ends_with(".h5");
  }
  if (error) throw InputError("{}: cannot be read: {}", directory, error.message());
  if (found == 0) throw InputError("{}: holds no rollouts (no file shard-*.h5)", directory);
  std::vector<std::string> paths;
  for (size_t i = 0; i < found; ++i) {
    paths.push_back((fs::path(directory) / shard_name(static_cast<int>(i))).string());
    if (!fs::exists(paths.back(), error))
      throw InputError("{}: is missing between other shards; resume the collection", paths.back());
  }
  return paths;
}

void require_same(const std::string& path, const RolloutInfo& first, const RolloutInfo& info) {
  if (info == first) return;
  const char* what = info.spec == first.spec                   ? "configuration or seed"
                     : info.spec.name != first.spec.name       ? "environment"
                     : info.spec.actions != first.spec.actions ? "set of actions"
                     : info.spec.starts != first.spec.starts   ? "start state"
                     : info.spec.source != first.spec.source   ? "source of its metrics"
                                                               : "environment specification";
  throw InputError("{}: has another {} than the first shard; one directory holds one collection",
                   path, what);
}

}  // namespace

struct Rollouts::Impl {
  struct Place {
    int32_t shard = 0;
    int32_t index = 0;
  };
  struct Loaded {
    std::shared_ptr<const StateTable> states;
    uint64_t used = 0;
  };

  std::vector<std::string> paths;
  RolloutInfo info;
  std::vector<Place> places;  ///< of each distinct state, where it stands first
  std::vector<Episode> episodes;
  std::vector<Split> splits;
  uint64_t fingerprint = 0;
  size_t memory_limit = 0;

  std::mutex mutex;  // guards what follows
  std::vector<Loaded> loaded;
  uint64_t clock = 0;

  void add_shard(size_t index, std::unordered_multimap<uint64_t, int32_t>* known);
  std::vector<int32_t> merge_states(size_t shard, const StateTable& states,
                                    std::unordered_multimap<uint64_t, int32_t>* known);
  Observation state(Place place);
  std::shared_ptr<const StateTable> keep(size_t shard, std::shared_ptr<const StateTable> states);
};

/// Keeps a table in memory; drops the tables longest unused beyond the limit. Under the mutex.
std::shared_ptr<const StateTable> Rollouts::Impl::keep(size_t shard,
                                                       std::shared_ptr<const StateTable> states) {
  loaded[shard] = {states, ++clock};
  for (;;) {
    size_t total = 0;
    Loaded* oldest = nullptr;
    for (Loaded& other : loaded) {
      if (!other.states) continue;
      total += other.states->memory();
      if (&other != &loaded[shard] && (!oldest || other.used < oldest->used)) oldest = &other;
    }
    if (total <= memory_limit || !oldest) return states;
    oldest->states.reset();
  }
}

Observation Rollouts::Impl::state(Place place) {
  const auto shard = static_cast<size_t>(place.shard);
  std::shared_ptr<const StateTable> states;
  {
    const std::lock_guard lock(mutex);
    if (loaded[shard].states) {
      loaded[shard].used = ++clock;
      states = loaded[shard].states;
    } else {
      states = keep(shard, std::make_shared<StateTable>(read_shard(paths[shard]).states));
    }
  }
  return states->decode(static_cast<size_t>(place.index));
}

/// The number over all shards of each state of one shard.
std::vector<int32_t> Rollouts::Impl::merge_states(
    size_t shard, const StateTable& states, std::unordered_multimap<uint64_t, int32_t>* known) {
  std::vector<int32_t> numbers;
  for (size_t i = 0; i < states.size(); ++i) {
    std::optional<int32_t> number;
    const auto [begin, end] = known->equal_range(states.key(i));
    for (auto it = begin; it != end && !number; ++it) {
      const Place other = places[static_cast<size_t>(it->second)];
      if (static_cast<size_t>(other.shard) != shard && state(other) == states.decode(i))
        number = it->second;
    }
    if (!number) {
      number = static_cast<int32_t>(places.size());
      places.push_back({static_cast<int32_t>(shard), static_cast<int32_t>(i)});
      known->emplace(states.key(i), *number);
    }
    numbers.push_back(*number);
  }
  return numbers;
}

void Rollouts::Impl::add_shard(size_t index, std::unordered_multimap<uint64_t, int32_t>* known) {
  uint64_t checksum = 0;
  Shard shard = read_shard(paths[index], &checksum);
  if (index == 0) info = shard.info;
  require_same(paths[index], info, shard.info);
  if (shard.first_episode != static_cast<int>(episodes.size()))
    throw InputError("{}: begins with episode {} where {} is expected", paths[index],
                     shard.first_episode, episodes.size());
  fingerprint = hash_combine(fingerprint, checksum);
  const auto states = std::make_shared<StateTable>(std::move(shard.states));
  {
    const std::lock_guard lock(mutex);
    keep(index, states);
  }
  const auto numbers = merge_states(index, *states, known);
  for (Episode& episode : shard.episodes) {
    for (Transition& step : episode.steps) step.state = numbers[static_cast<size_t>(step.state)];
    episode.final_state = numbers[static_cast<size_t>(episode.final_state)];
    episodes.push_back(std::move(episode));
  }
  splits.insert(splits.end(), shard.splits.begin(), shard.splits.end());
}

Rollouts Rollouts::open(const std::string& directory, size_t memory_bytes) {
  Rollouts rollouts;
  rollouts.impl_ = std::make_shared<Impl>();
  Impl& impl = *rollouts.impl_;
  impl.paths = shard_paths(directory);
  impl.loaded.resize(impl.paths.size());
  impl.memory_limit = memory_bytes;
  std::unordered_multimap<uint64_t, int32_t> known;
  for (size_t i = 0; i < impl.paths.size(); ++i) impl.add_shard(i, &known);
  return rollouts;
}

const RolloutInfo& Rollouts::info() const { return impl_->info; }
int Rollouts::state_count() const { return static_cast<int>(impl_->places.size()); }

Observation Rollouts::state(int index) const {
  REVERIE_CHECK(index >= 0 && index < state_count(), "state {} of {}", index, state_count());
  return impl_->state(impl_->places[static_cast<size_t>(index)]);
}

const std::vector<Episode>& Rollouts::episodes() const { return impl_->episodes; }
Split Rollouts::split(int episode) const { return impl_->splits.at(static_cast<size_t>(episode)); }

uint64_t Rollouts::fingerprint() const { return impl_->fingerprint; }

}  // namespace reverie
