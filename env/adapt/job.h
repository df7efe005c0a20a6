#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "env/adapt/network.h"

namespace reverie {

/// A change of a block of the first network, and the learning rate that training goes on with after
/// it. The block's number may be another one at every decision, its origin never is.
struct ChangeAtRate {
  ChangeKind kind = ChangeKind::kDeepen;
  int origin = 0;   ///< Block::origin
  double rate = 0;  ///< of Adam, whose moments begin anew; it decays from there

  /// In a network that the job has; nowhere allowed where that has no block of the origin.
  adapt::Change in(const Network& network) const { return {kind, network.block_of(origin)}; }
  bool operator==(const ChangeAtRate&) const = default;
};
using Decisions = std::vector<std::optional<ChangeAtRate>>;  ///< nullopt: go on as it is

/// The network that a job goes on with after a decision: every block is one decision older, then
/// the change is made. InputError where it is not allowed.
Network after_decision(const Network& network, const std::optional<ChangeAtRate>& decision);

/// "deepen conv1" or "go on", of a job that has this network at any time; "deepen conv1 at 0.003"
/// where `rate` is asked for.
std::string text_of(const std::optional<ChangeAtRate>& decision, const Network& network, bool rate);

/// One epoch of training. Epochs that the budget breaks off are not recorded.
struct EpochRecord {
  double accuracy = 0;        ///< on data that is not trained on, 0 to 1
  double train_accuracy = 0;  ///< mean over the epoch
  double loss = 0;            ///< mean training loss; 0 where it is not known
  double spent = 0;           ///< share of the budget at its end
  bool operator==(const EpochRecord&) const = default;
};

/// Where a job stands: between epochs, at a decision or at its end.
struct JobState {
  Network network;
  std::vector<EpochRecord>
      curve;               ///< of all epochs so far, those before the first decision included
  Decisions decisions;     ///< taken so far
  double spent = 0;        ///< share of the budget, 0 to 1
  double throughput = 1;   ///< of the processors it has now, in those it began with
  double epoch_share = 0;  ///< share of the budget that an epoch of `network` takes now
  bool over = false;       ///< the budget is spent
  bool operator==(const JobState&) const = default;
};

/// "deepen conv1, go on", with rates where they are asked for; "-" without a decision.
std::string decisions_text(const JobState& job, bool rates);

/// A training that a scheduler lets run to its next decision. A value by `copy`; not for concurrent
/// use.
class TrainingJob {
 public:
  virtual ~TrainingJob() = default;
  virtual const JobState& state() const = 0;
  /// Takes a decision and trains until the next one, or to the end of the budget where it was the
  /// last. InputError where the change is not allowed, the job is over, or the loss is no finite
  /// number; after the last the job is of no use any more.
  virtual void decide(const std::optional<ChangeAtRate>& decision) = 0;
  /// An independent one in the same state: it goes on as this one would.
  virtual std::unique_ptr<TrainingJob> copy() const = 0;
};

/// Where jobs come from: real training, or a table of recorded ones. A scenario is a network, data
/// and a schedule; its jobs differ by seed, from their first decision on. Safe for concurrent use.
class JobSource {
 public:
  virtual ~JobSource() = default;
  /// For a person and for EnvSpec::source: "train", "table".
  virtual std::string name() const = 0;
  /// Of a scenario, for EnvSpec::starts.
  virtual std::string scenario() const = 0;
  virtual uint64_t fingerprint() const = 0;
  virtual int decisions() const = 0;
  /// Whether a change can be decided on at all here: a table has only what was recorded.
  virtual bool offers(const JobState& state, const ChangeAtRate& change) const = 0;
  /// Rates after a change that are offered, ascending; their number is the same for all scenarios.
  virtual const std::vector<double>& rates() const = 0;
  /// Equal seeds give equal jobs, under equal decisions.
  virtual bool deterministic() const = 0;
  /// Whether `foresee` answers: the budget is not one of seconds.
  virtual bool foresees() const { return false; }
  /// A job at its first decision which is not trained from there on. Its networks, its epochs and
  /// its budget are those of every job that takes the same decisions; the accuracies are 0. Null
  /// where it does not foresee.
  virtual std::unique_ptr<TrainingJob> foresee() const { return nullptr; }
  /// A job at its first decision; those of all seeds are in the same state.
  virtual std::unique_ptr<TrainingJob> start(uint64_t seed) const = 0;
};

}  // namespace reverie
