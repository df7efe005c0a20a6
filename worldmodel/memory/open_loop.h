#pragma once

#include <string>
#include <vector>

#include "core/base/json.h"
#include "worldmodel/memory/starts.h"
#include "worldmodel/memory/world_model.h"

namespace reverie {

/// How well M predicts k steps ahead of a real state under the real actions, at temperature 0, the
/// recurrent state warmed up. Beside each figure: what copying the state at the start would give.
struct OpenLoopRow {
  int k = 0;  ///< 0: from the beginning of an episode to the last state that belongs to it
  int64_t starts = 0;
  double latent_error = 0;  ///< root mean square, in deviations of entities' latents
  double latent_error_copy = 0;
  double reward_error = 0;      ///< mean |predicted - real| sum of k rewards, or of the episode's
  double reward_magnitude = 0;  ///< mean |real sum|, the error of predicting 0
  /// Rank correlation (Spearman) of predicted and real sums within a start state, on the mean over
  /// pairs; and that of a table of mean training rewards by step, which knows nothing else.
  double rank_within = 0;
  double rank_by_step = 0;
  double count_error = 0;  ///< mean |predicted - real| count, NO-OP aside
  double count_error_copy = 0;
  /// Wrong counts, by entity, for each that differs from the start's, NO-OP aside: 1 is what
  /// copying gives; 0 where none differs. Most never change and are right in any case; here they
  /// don't count.
  double change_error = 0;
  double present_f1 = 0;  ///< of "has a valid choice", NO-OP aside
  double present_f1_copy = 0;
  double absent_f1 = 0;  ///< of "has none"
  double absent_f1_copy = 0;
};

/// Rows for those `steps` (none: no row) that at least one start has ahead of it, and for whole
/// episodes. At most `max_starts` starts, evenly spread over the episodes, of which at most 100 are
/// taken.
std::vector<OpenLoopRow> open_loop(const LatentEpisodes& data, const std::vector<int>& episodes,
                                   WorldModel& world, const std::vector<int>& steps,
                                   int max_starts = 1000);

/// Keeps rows among a checkpoint's scores ("open_loop/5/latent_error"), and what is kept there.
void put_open_loop(Checkpoint& checkpoint, const std::vector<OpenLoopRow>& rows);
std::vector<OpenLoopRow> get_open_loop(const Checkpoint& checkpoint);

Json open_loop_json(const std::vector<OpenLoopRow>& rows);
std::string open_loop_table(const std::vector<OpenLoopRow>& rows);

}  // namespace reverie
