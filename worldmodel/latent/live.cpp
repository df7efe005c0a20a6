#include "worldmodel/latent/live.h"

#include <algorithm>
#include <numeric>
#include <thread>
#include <utility>

#include "env/translated.h"

namespace reverie {
namespace {

int worker_count(int wanted, const Environment& environment, int batch) {
  if (wanted == 0 && !environment.spec().deterministic) return 1;
  const int threads = wanted > 0 ? wanted : static_cast<int>(std::thread::hardware_concurrency());
  return std::clamp(threads, 1, batch);
}

}  // namespace

LiveLatentEnvironment::LiveLatentEnvironment(const Environment& environment,
                                             std::shared_ptr<Encoder> encoder,
                                             std::shared_ptr<WorldModel> world, int batch,
                                             int workers)
    : spec_(world->spec()),
      real_(*translated(environment.fork(), spec_.env), batch,
            worker_count(workers, environment, batch)),
      trajectories_(std::move(encoder), std::move(world), real_.spec(), batch) {
  spec_.env = real_.spec();
}

LatentObservation LiveLatentEnvironment::reset(uint64_t seed) {
  std::vector<uint64_t> seeds(batch());
  std::iota(seeds.begin(), seeds.end(), seed);
  real_.reset(seeds);
  std::vector<int64_t> all(batch());
  std::iota(all.begin(), all.end(), 0);
  trajectories_.begin(real_.observe(all));
  return observe();
}

LatentStep LiveLatentEnvironment::step(const LatentActions& actions) {
  auto rewards = torch::zeros({batch()});
  std::vector<int64_t> running, moved;
  for (int b = 0; b < batch(); ++b)
    if (!real_.over(b)) running.push_back(b);
  const std::vector<StepResult> results = real_.step(actions_of(actions));
  for (const int64_t b : running) {
    rewards.data_ptr<float>()[b] = static_cast<float>(results[b].reward);
    trajectories_.count(b, results[b].terminated, results[b].truncated);
    if (!results[b].terminated) moved.push_back(b);
  }
  trajectories_.move(actions, moved, real_.observe(moved));
  return trajectories_.result(rewards);
}

}  // namespace reverie
