#pragma once

#include <memory>

#include "worldmodel/network/torch.h"

namespace reverie {

/// The processes that train one network together, on one machine or on several. All of them do the
/// same, but for their shares of each minibatch.
class Processes {
 public:
  /// One alone.
  Processes();
  /// Those that the environment tells of: RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, as
  /// torchrun sets them; where MASTER_ADDR is set, for the first two also SLURM_PROCID and
  /// SLURM_STEP_NUM_TASKS of srun. One alone where it tells of none. Waits until all are there.
  /// InputError where a variable is missing or wrong, the first process is not found, or this was
  /// built without Gloo.
  static Processes from_environment();

  int rank() const;
  int count() const;
  /// Whether this is the one that writes files and talks.
  bool is_first() const { return rank() == 0; }

  /// [rows * count, columns]: the rows of all, in the order of ranks, of [rows, columns] in each.
  /// InputError where another process is gone.
  torch::Tensor gather(const torch::Tensor& rows) const;
  /// Returns when all have come here. InputError as by gather.
  void meet() const;

 private:
  struct Group;
  std::shared_ptr<Group> group_;  // null: one alone
};

}  // namespace reverie
