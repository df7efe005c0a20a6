#include "tools/adapt_methods.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "core/base/error.h"
#include "core/base/stopwatch.h"
#include "core/base/words.h"
#include "env/adapt/search.h"
#include "env/registry/adapt_evaluation.h"
#include "tools/adapt_policy.h"
#include "tools/learning.h"
#ifdef REVERIE_LEARNING
#include "env/adapt/train/published_agent.h"
#endif

namespace reverie {
namespace {

constexpr char kFixed[] = "fixed:";
constexpr int kEpisodes = 5000;  // that the published agent needs

/// A method that plays many jobs of AdaptJobs::learning, then the one of AdaptJobs::final.
struct LearningMethod {
  const char* name;
  const char* what;
  MethodResult (*run)(const LearningMethod&, const AdaptJobs&, const AdaptOptions&, uint64_t seed);
};

MethodResult learned(const TrainingJob& job, int episodes, const Stopwatch& watch) {
  MethodResult result;
  result.solution = std::make_shared<AdaptSolution>(job.state());
  result.candidates = episodes;
  result.seconds = watch.seconds();
  return result;
}

MethodResult search(const AdaptSearch& find, const AdaptJobs& jobs, int episodes, uint64_t seed) {
  const Stopwatch watch;
  const Decisions found = find(jobs.learning, episodes, seed);
  const auto job = jobs.final.source->start(seed);
  follow(found, *jobs.final.source, *job);
  return learned(*job, episodes, watch);
}

template <auto kFind>
MethodResult by(const LearningMethod&, const AdaptJobs& jobs, const AdaptOptions& options,
                uint64_t seed) {
  return search(kFind, jobs, adapt_episodes(options), seed);
}

#ifdef REVERIE_LEARNING
PublishedAgentConfig published_config(const std::string& name) {
  PublishedAgentConfig config;
  if (name.starts_with("mended")) config.kind = PublishedKind::kMended;
  config.baseline = name == "mended" || name == "published_with_baseline";
  return config;
}

MethodResult learn_published(const LearningMethod& method, const AdaptJobs& jobs,
                             const AdaptOptions& options, uint64_t seed) {
  const Stopwatch watch;
  PublishedAgentConfig config = published_config(method.name);
  config.episodes = adapt_episodes(options);
  config.seed = seed;
  PublishedAgent agent({jobs.learning.source->start(seed)->state().network}, config);
  {
    Progress progress(method.name, config.episodes, "episodes", options.common.progress());
    agent.learn(jobs.learning, [&](int episode, const JobState&) { progress.update(episode); });
  }
  return learned(*agent.play(jobs.final, seed), config.episodes, watch);
}
#else
MethodResult learn_published(const LearningMethod& method, const AdaptJobs&, const AdaptOptions&,
                             uint64_t) {
  leave_to_learning_program(fmt::format("--method {}", method.name));
}
#endif

constexpr LearningMethod kLearning[] = {
    {"random_best", "the best of sequences that are drawn", by<random_best>},
    {"halving", "successive halving of such by their learning curves", by<successive_halving>},
    {"thompson", "Thompson sampling, with a linear model of what decisions add", by<thompson>},
    {"published", "the agent of Lamelas (2023), REINFORCE; then its likeliest decisions",
     learn_published},
    {"published_with_baseline", "with rewards above their moving average", learn_published},
    {"mended", "with that, and with time, temperature and layers as they should be",
     learn_published},
    {"mended_without_baseline", "with time, temperature and layers alone", learn_published},
};

std::vector<std::string> fixed_decisions(const std::string& text) {
  std::vector<std::string> decisions = CLI::detail::split(text, ',');
  for (std::string& decision : decisions) CLI::detail::trim(decision);
  return decisions;
}

std::unique_ptr<EvaluationCases> cases_of(const AdaptOptions& options, const AdaptReward reward,
                                          const AdaptStart& start) {
  AdaptEvaluationConfig how;
  if (options.method.starts_with(kFixed))
    how.fixed = fixed_decisions(options.method.substr(sizeof(kFixed) - 1));
  return adapt_cases({std::make_unique<AdaptEnvironment>(std::vector{start}, reward), {}}, how);
}

EvaluationMethod baseline(const std::string& wanted, const EvaluationCases& cases) {
  const std::string name = wanted.starts_with(kFixed) ? "fixed" : wanted;
  for (const EvaluationMethod& method : cases.cases().front()->baselines())
    if (name == method.name) return method;
  throw InputError("no method '{}' for this source; reverie adapt --help lists them", wanted);
}

const LearningMethod* learning_method(const std::string& name) {
  const auto found = std::ranges::find(kLearning, name, &LearningMethod::name);
  return found == std::end(kLearning) ? nullptr : &*found;
}

}  // namespace

std::string adapt_methods() {
  std::string table =
      "Methods:\n"
      "  nothing            no change\n"
      "  early              a change at every decision, of blocks in turn\n"
      "  random             every decision equally likely\n"
      "  fixed:DECISIONS    such as 'fixed:deepen conv1,go on,widen conv2'\n"
      "  exhaustive         tables: each sequence once, and the best of them\n";
  for (const LearningMethod& method : kLearning)
    table += fmt::format("  {:<18} {}\n", method.name, method.what);
  return table;
}

int adapt_episodes(const AdaptOptions& options) {
  const bool learns = learning_method(options.method) != nullptr;
  return options.episodes.value_or(learns ? kEpisodes : 0);
}

std::string adapt_decider(const AdaptOptions& options) {
  const std::string who = options.policy.empty() ? options.method : "policy " + options.policy;
  const int episodes = adapt_episodes(options);
  return episodes > 0 ? fmt::format("{}, {}", who, counted(episodes, "episode")) : who;
}

std::function<MethodResult()> adapt_player(const AdaptOptions& options,
                                           const AdaptCommandConfig& config,
                                           const AdaptJobs& jobs) {
  const uint64_t seed = config.seed;
  if (const LearningMethod* method = learning_method(options.method))
    return [=] { return method->run(*method, jobs, options, seed); };
  const std::shared_ptr<const EvaluationCases> cases =
      cases_of(options, config.adapt.reward, jobs.final);
  const int episodes = adapt_episodes(options);
  if (episodes == 0) {
    const EvaluationMethod method = options.policy.empty()
                                        ? baseline(options.method, *cases)
                                        : policy_method_for(options.policy, *cases);
    return [cases, method, seed] { return method.run({.seed = seed}); };
  }
  if (options.policy.empty())
    throw InputError("--episodes {}: '{}' learns from none; leave it out", episodes,
                     options.method);
  const AdaptSearch find = policy_search_for(options.policy, *cases);
  return [=] { return search(find, jobs, episodes, seed); };
}

}  // namespace reverie
