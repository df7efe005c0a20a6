#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "env/adapt/job.h"
#include "env/environment.h"

namespace reverie {

/// What an observation of a job is made of.
struct JobView {
  const JobState& state;
  double changed_at =
      0;              ///< share of the budget that was spent at the last change; 0 before the first
  int decisions = 1;  ///< that it has in all
  /// What the columns of `learned_job_columns` are, where the curve does not tell.
  std::optional<std::array<float, 4>> told = {};
};

// Node 0 is the image, of entity 0; node i + 1 is block i, of entity origin + 1. The image also
// shows the job as a whole: V reads nodes and edges alone, and a node learns from those that edges
// join to it, so that an edge leads from the image to every block. Numbers that grow without bound
// are shown by log(1 + x).

const std::vector<std::string>& job_node_types();
/// Columns of a block (0 at the image, but for its width), then those of the job (0 at blocks).
std::vector<std::string> job_node_features();
/// Those of the job that only training tells.
const std::array<std::string, 4>& learned_job_columns();
/// Share of the multiply-adds at each node, then what the image shows of the job.
std::vector<Target> job_targets();
/// "reads": the output of the sender; "adds": it; "job": from the image to every block.
const std::vector<std::string>& job_edge_features();
GraphFeatures job_features(const JobView& view);

/// Of a change, relative to the network now: log of the ratio of multiply-adds, of that of
/// parameters, and log10 of the rate.
const std::vector<std::string>& change_features();
std::vector<float> features_of(const Network& network, const ChangeAtRate& change);

/// Mean accuracy of the last epochs, of so many or as many as there are; 0 without any.
double mean_accuracy(const std::vector<EpochRecord>& curve, int epochs);

}  // namespace reverie
