#pragma once

#include <memory>
#include <string>
#include <vector>

#include "controller/validate/validation.h"
#include "worldmodel/batch/episode_source.h"
#include "worldmodel/latent/dream.h"

namespace reverie {

/// Where a policy learns.
enum class LearningPlace { kDream, kGreyBox, kLive };
inline EnumNames<LearningPlace> enum_names(LearningPlace) {
  return {{LearningPlace::kDream, "dream"},
          {LearningPlace::kGreyBox, "grey_box"},
          {LearningPlace::kLive, "live"}};
}

/// Settings of the step dream_train.
struct DreamStepConfig {
  uint64_t seed = 0;
  LearningPlace environment = LearningPlace::kDream;
  TrainingPlan plan;
  int64_t policies = 1;
  std::vector<double> discounts;
  TrainerConfig trainer;
  DreamConfig dream;
  CloneConfig clone;
  ValidationConfig validation;
  std::string validate_source;
  std::string known_source;  ///< of a grey box; `training` takes its rewards from there

  template <class V>
  void fields(V& v) {
    v.field("seed", seed, "Seed of all randomness");
    v.field("validate_source", validate_source,
            "Where the metrics of validation come from; empty: as collected");
    Dream section{*this};
    v.section("dream", section, "Training of the policy");
  }

 private:
  struct Dream {
    DreamStepConfig& config;
    template <class V>
    void fields(V& v) {
      v.field("environment", config.environment,
              "Where it learns: dream, grey_box (known dynamics; M says what they do not), or live "
              "(model-free)");
      v.field("known_source", config.known_source,
              "Where the rewards of a grey box come from: fitted:<file>, roofline:<device>, "
              "table:<file>; empty: from where the environment's do");
      config.plan.fields(v);
      v.field("policies", config.policies,
              "Policies trained with different seeds, each from the same start with all `updates`; "
              "what validation "
              "finds best is kept",
              at_least(1));
      v.field("discounts", config.discounts,
              "Of these policies in turn, instead of ppo.gamma (as in a family of policies, Badia "
              "et al., Agent57, "
              "2020); empty: all have that",
              between(0, 1));
      config.trainer.fields(v);
      config.dream.fields(v);
      v.section("clone", config.clone, "Imitation of the best episodes before the first update");
      v.section("validation", config.validation, "Validation in the real environment");
    }
  };
};

struct DreamStepRun {
  std::string world;        ///< checkpoint of kind "world"
  std::string policy = {};  ///< checkpoint of kind "policy" to go on from; empty: a new one
  /// To learn in where `environment` is live, of which the dynamics are known where it is grey_box
  /// (EnvironmentKind::make_known), and to be judged in, which the first process alone needs.
  std::shared_ptr<Environment> training, validation;
  /// Kept with the policy: the EnvironmentConfig that it was trained on, as YAML.
  std::string environment = {};
  double seconds_before = 0;   ///< that collecting and fitting M took, which count as its own
  bool validate_start = true;  ///< false: not before the first update, whatever `plan` says
  std::string directory;       ///< exists
  bool resume = false;
  Processes processes = {};  ///< of a TrainingRun
  ProgressStyle progress = ProgressStyle::kQuiet;
  torch::Device device = torch::kCPU;
};

/// InputError when settings do not go together.
void require_fit(const DreamStepConfig& config, const Processes& processes = {});

/// Trains C in the dream that starts from the states of `data`, in a grey box or live. Writes
/// policy.pt, which holds V, M and C, last.pt, training.pt and metrics.jsonl. Each of several
/// policies has all of these in `policy-k` below run.directory, where policy.pt and last.pt are
/// those of the policy whose validation was best, and the result is that of a TrainingSeries; only
/// the first is validated before its first update. Dreams end at the horizon of `data`, whatever
/// that was for M. InputError when the world model or the policy to go on from belongs to other
/// actions or another environment, when that policy is one of other settings, and as by
/// require_fit.
TrainingResult run_dream_step(const EpisodeSource& data, const DreamStepConfig& config,
                              const DreamStepRun& run);

}  // namespace reverie
