#include "core/base/progress.h"
#include "core/base/stopwatch.h"
#include "env/adapt/adapt_task.h"
#include "env/adapt/train/published_agent.h"

namespace reverie {
namespace {

/// The agent of Lamelas (2023).
class Published : public AdaptLearner {
 public:
  Published(std::string name, std::string what, PublishedKind kind, bool baseline)
      : AdaptLearner(std::move(name), std::move(what)) {
    config_.kind = kind;
    config_.baseline = baseline;
  }

  Result run(const Task& task, const SearchOptions& limits, const SolverSettings&) const override {
    const Stopwatch watch;
    const AdaptTask& own = adapt_task(task);
    PublishedAgentConfig config = config_;
    config.episodes = static_cast<int>(limits.budget);
    config.seed = limits.seed;
    PublishedAgent agent({own.learning().source->start(limits.seed)->state().network}, config);
    agent.learn(own.learning(), [&](int episode, const JobState&) {
      if (limits.on_progress) limits.on_progress({watch.seconds(), episode, episode, 0});
    });
    return own.result(agent.play(own.final(), limits.seed)->state(), limits.budget,
                      watch.seconds());
  }

 private:
  PublishedAgentConfig config_;
};

const bool kPublishedRegistered =
    register_solver<Published>(
        "published", "the agent of Lamelas (2023), REINFORCE; then its likeliest decisions",
        PublishedKind::kPublished, false) &&
    register_solver<Published>("published_with_baseline", "with rewards above their moving average",
                               PublishedKind::kPublished, true) &&
    register_solver<Published>("mended",
                               "with that, and with time, temperature and layers as they should be",
                               PublishedKind::kMended, true) &&
    register_solver<Published>("mended_without_baseline", "with time, temperature and layers alone",
                               PublishedKind::kMended, false);

}  // namespace
}  // namespace reverie
