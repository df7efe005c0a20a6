#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "env/environment.h"
#include "env/placement/placement_starts.h"
#include "env/placement/simulator/fusing_simulator.h"
#include "env/placement/simulator/measure_schedule.h"
#include "env/placement/simulator/simulator.h"

namespace reverie {

/// Places graphs on devices. An episode begins with all nodes on the best device alone, where all
/// stay that are never placed. Nodes run as they are ready, those with the longest path behind them
/// first.
///
/// Entity 0 is the machine, entity i + 1 group i, in the order of first nodes. Primary actions:
/// "place on NAME" for each device; "raise" and "lower" let a group run before or after those of
/// lower or higher level (three up, three down); with fusion "fuse"; NO-OP.
///
/// - Constructive: the groups come in topological order of their first nodes, and each may go to
///   any device. The episode terminates after the last. The placement is judged once, when the
///   episode ends. Until then states show a list schedule of what was placed, and rewards are what
///   its makespan gains. The last reward makes their sum what the judged placement gains. So with
///   discount 1 the best policy is the same (Ng, Harada and Russell 1999, theorem 1).
/// - Improving: any group may go to another device, be raised or lowered, until NO-OP or the
///   horizon. Each step is judged.
///
/// - With fusion, "fuse" has the nodes of a group fused with those that read from them, by
///   greedy_fusion: all groups that are to be fused, the longest path first, where they are. At
///   first none is. In constructive form a group may be fused before it is placed.
///
/// The horizon is the largest number of groups of a start, where none is given, and twice that with
/// fusion.
///
/// Where a start has a MeasureSchedule, makespans that are rewarded and told are its own. To judge
/// then takes two runs: the start's comes first, and the ratio of both counts, so that it does not
/// matter how fast the machine is at the time. What states show is simulated all the same, with
/// costs that were measured beforehand; as these differ from time to time, fingerprints leave them
/// out. All starts have a MeasureSchedule or none has.
///
/// Texts number groups as entities.
///
/// To judge costs one run of the simulator, which counts as a cost look-up. Rewards are what the
/// placement gained since the one before, in percent of the start: of makespan and peak memory by
/// their weights, relative to the start's or of the square roots of that (ColocRL: Mirhoseini et
/// al. 2017, section 3). Where memory is exceeded that is kInfeasible starts, and more the more
/// bytes are missing.
class PlacementEnvironment : public Environment {
 public:
  static constexpr double kInfeasible = 4;
  static constexpr int kLevels = 3;

  /// InputError as Simulator, and with fusion for graphs whose costs cannot be fused.
  PlacementEnvironment(std::vector<PlacementStart> starts, Topology topology,
                       const PlacementEnvConfig& config);

  const EnvSpec& spec() const override { return shared_->spec; }
  void reset(uint64_t seed) override;
  StepResult step(const Action& action) override;
  Observation observe() const override;
  ActionMask mask() const override;
  StepInfo info() const override;
  /// Start and best are run in turn, five times each; of both the median counts.
  double measured_gain() const override;
  std::string describe() const override;
  std::string describe(const Action& action) const override;
  const EnvCounters& counters() const override { return counters_; }
  std::unique_ptr<Environment> fork() const override;
  /// Makespans are the simulator's.
  std::unique_ptr<KnownDynamics> known() const override;

  const CostGraph& graph() const { return start().graph; }
  const Topology& topology() const { return shared_->topology; }
  bool fuses() const { return shared_->config.fusion; }
  /// The state, to be run as nodes are ready (Dispatch::kReady).
  Placement placement() const { return placement_of(state_); }
  /// As it was last judged.
  const Outcome& outcome() const { return judged_; }
  /// Of a start state; empty where makespans are simulated.
  const MeasureSchedule& measure(int start) const;
  /// The best feasible state of the episode; that it began at where none was.
  Placement best_placement() const { return placement_of(best_state_); }

 private:
  std::unique_ptr<PlacementEnvironment> copy() const;
  const PreparedStart& start() const { return *shared_->starts[start_]; }
  /// All on the best device.
  const Outcome& first() const { return simulates_ ? start().simulated : start().judged; }
  Placement placement_of(const PlacementState& state) const;
  bool is_constructive() const { return shared_->config.form == PlacementForm::kConstructive; }
  void judge();
  void keep_best();
  double share(double ratio) const;
  double value(const Outcome& outcome) const;
  double planned_value() const;
  void take(const Action& action);
  void offer(int entity, ActionMask& mask) const;
  int fuse_action() const;
  double objective_of(const Outcome& outcome) const;
  std::string text_of_group(int group) const;
  const std::string& name_of(int device) const {
    return topology().devices[static_cast<size_t>(device)].name;
  }

  std::shared_ptr<const PlacementStarts> shared_;
  size_t start_ = 0;
  std::shared_ptr<FusingSimulator> simulator_;  ///< of this start; of this environment alone
  PlacementState state_, best_state_;
  PlannedPlacement shown_;  ///< what states show: as planned or, improving, as simulated
  Outcome judged_;          ///< as it was last judged, with the makespan that counts
  double value_ = 0;        ///< that rewards have told of so far
  double best_ = 0;
  int steps_ = 0;
  bool simulates_ = false;  ///< whatever could be measured
  bool changed_ = false;    ///< since it was judged
  bool over_ = true;
  mutable EnvCounters counters_;
};

}  // namespace reverie
