#pragma once

#include <memory>

#include "core/base/config.h"
#include "worldmodel/ensemble.h"
#include "worldmodel/latent.h"
#include "worldmodel/starts.h"
#include "worldmodel/world_model.h"

namespace reverie {

struct DreamConfig {
  double temperature = 1;
  double mask_margin = 0;
  int depth = 6;
  int depth_start = 0;
  double depth_growth = 0.5;
  bool from_first_states = false;
  bool warm_up = true;
  double disagreement_quantile = 0;
  bool return_cap = false;
  double return_cap_margin = 10;

  template <class V>
  void fields(V& v) {
    v.field("temperature", temperature, "Temperature of the mixture; 0 takes the likeliest",
            at_least(0));
    v.field("mask_margin", mask_margin,
            "A dreamt mask has choices where some number of them is likelier than none by this much, in logarithms. "
            "Validation's dreams too", at_least(0));
    v.field("depth", depth, "Steps after which a dream is truncated and the critic stands for the rest; 0: at the "
            "horizon alone", at_least(0));
    v.field("depth_start", depth_start,
            "Depth before the first update, from which it grows; 0: the same throughout", at_least(0));
    v.field("depth_growth", depth_growth,
            "Share of the updates after which it has grown to `depth`",
            ConfigRange{.low = 0, .high = 1, .low_excluded = true});
    v.field("from_first_states", from_first_states,
            "Begin only where episodes begin, not at every stored state");
    v.field("warm_up", warm_up, "Carry the recurrent state along the real steps before the start");
    v.field("disagreement_quantile", disagreement_quantile,
            "A trajectory ends where members of M disagree more than about this share of the real "
            "steps; 0: off", between(0, 1));
    v.field("return_cap", return_cap,
            "A trajectory ends where its return, real steps included, passes the best of the "
            "training data from the same start graph by more than the margin");
    v.field("return_cap_margin", return_cap_margin, "In units of the reward", at_least(0));
  }
};

/// What a dream of N starts is held to.
struct DreamGuards {
  std::unique_ptr<DisagreementGuard> disagreement;  ///< made for the same starts; null: off
  torch::Tensor room;  ///< [N] float32: return that is credible from each start; undefined: any
};

/// M alone: real states as starts, no environment anywhere. B trajectories begin at stored states
/// drawn with the seed. They are short, as the error of M grows with every step that it takes on its
/// own predictions (Janner et al. 2019), and may grow over a training, as rollouts do there: linearly
/// in the share of it that is done, from `depth_start` to `depth` (or the horizon). A short dream rests
/// on the critic for what it leaves out, in states that M dreamt and no data corrects: without rounds
/// of real play between a policy learns in time to put off what gains.
///
/// Where it is guarded, a step that is refused terminates its trajectory, and a gain that M sees in
/// the step isn't paid: the step is worth at most what NO-OP is worth there. So nothing is to be had
/// by going where M isn't to be believed, neither from its rewards nor from a critic, which no dream
/// corrects there; truncating would ask just that critic. MOReL halts likewise, with a penalty
/// (Kidambi et al. 2020); here a value of 0 is pessimistic by itself, as NO-OP can always be taken.
///
/// A step is refused about which the members of an ensemble disagree, or which brings the return
/// above an empirical cap: the best of the data, with a margin. The cap is no floor of the cost that
/// holds: rules may fold, merge or replace any operator, so that all that is known for every rule
/// set is that no cost is negative. It can be too low: better by more than the margin than all data
/// isn't paid until data has come that near.
///
/// Latents, masks and rewards are those of the first member, whose recurrent state the policy sees
/// live as well.
class DreamEnvironment : public LatentEnvironment {
 public:
  /// `starts` on the world model's device; see `dream_starts`. InputError when the depth would
  /// shrink.
  DreamEnvironment(std::shared_ptr<WorldModel> world, StartStates starts, const DreamConfig& config,
                   int batch, DreamGuards guards = {});

  const LatentSpec& spec() const override { return world_->spec(); }
  int batch() const override { return batch_; }
  LatentObservation reset(uint64_t seed) override;
  LatentStep step(const LatentActions& actions) override;
  LatentObservation observe() const override;
  EnvCounters counters() const override { return {}; }

  void set_progress(double progress) override;
  /// depth, where it grows; ended_by_disagreement and ended_by_cap, shares of trajectories, where
  /// these are guarded.
  Metrics metrics() const override;

 private:
  /// The steps that the guards refuse, [B] bool; takes their gains out of `reward` [B], which is 0
  /// where a trajectory isn't `running` [B].
  torch::Tensor refuse(const LatentState& before, const LatentActions& actions,
                       const torch::Tensor& goes_on, const torch::Tensor& running,
                       torch::Tensor& reward);
  int full_depth() const { return config_.depth > 0 ? config_.depth : spec().env.horizon; }

  std::shared_ptr<WorldModel> world_;
  StartStates starts_;
  DreamConfig config_;
  int batch_;
  DreamGuards guards_;
  torch::Generator noise_;
  LatentState state_;
  LatentMask mask_;
  torch::Tensor steps_;       // [B] int64, real steps before the start included
  torch::Tensor terminated_;  // [B] bool
  torch::Tensor truncated_;   // [B] bool
  torch::Tensor room_;        // [B], of the guards, less what was paid since
  torch::Tensor disagreed_, capped_;  // [B] bool: terminated by a guard
  int dreamed_ = 0;
  int depth_;  // of the present
};

/// Starts for a dream from the training split, as `config` wants them; when S > 1 at most 4096, evenly
/// spread, as each holds the recurrent states of all regions.
StartStates dream_starts(const LatentEpisodes& data, WorldModel& world, const DreamConfig& config);

/// The dream of M, the first of `members`, that begins at states of the training split. InputError
/// when disagreement is to be guarded and there is one member.
std::unique_ptr<DreamEnvironment> make_dream(const LatentEpisodes& data, const Members& members,
                                             const DreamConfig& config, int batch);

}  // namespace reverie
