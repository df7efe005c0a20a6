#pragma once

#include <vector>

#include "core/cost/machine.h"
#include "core/cost/paired_benchmark.h"
#include "env/rewrite/optimize/subject.h"
#include "env/rewrite/search/search.h"

namespace reverie {

/// A graph that a search passed through.
struct Contender {
  Graph graph;
  Cost cost;
  std::vector<RewriteStep> rewrites;
  std::string rules = {};  ///< that found it, where several sets of rules were tried
  /// Nothing is rewritten: the file of the graph as it was read, with constants and shape code
  /// folded.
  bool simplified = false;
  /// Its file has the extents that the model was imported with in the place of symbolic dimensions.
  bool constant_shapes = false;
};

/// Graphs made ready on a machine. One that runs files runs the subject's own, and what is written
/// of the contenders, with the subject's symbolic dimensions; another runs the graphs.
class Contestants {
 public:
  /// Contenders that cannot be written for a machine that runs files are taken out.
  Contestants(const Subject& subject, std::vector<Contender>& contenders, Machine& machine);
  ~Contestants();
  /// Contestant 0 is the original, i + 1 contender i. InputError where it cannot be run.
  std::unique_ptr<ReadyGraph> ready(int contestant);
  /// Whether the machine runs files.
  bool are_files() const { return files_ != nullptr; }
  /// Contenders that may be ready at once beside the original: as many as have 1 GiB of weights
  /// together, of which a runtime holds two to three times as much.
  int together() const;
  /// A contender was changed.
  void renew(int contestant);
  /// The largest max|a-b| / max|a| of an output that the machine computes of a contender, or of a
  /// file of the graph, a being the original's; 0 on a machine that runs no files.
  double difference(int contestant);
  double difference(const Graph& graph);
  /// Says of the original and of each finalist what the machine loses because it rounds, where it
  /// tells.
  void tell_rounding(std::vector<ContestantResult>& results);

 private:
  class Files;
  Subject subject_;
  const std::vector<Contender>& contenders_;
  Machine& machine_;
  double difference_of_file(const std::filesystem::path& file);

  std::unique_ptr<Files> files_;
  std::vector<NamedTensor> original_outputs_;
};

/// At most `count` distinct graphs of a search: its best first, then those of its trace, spread
/// evenly over what was gained from the start (which is none of them) to the best.
std::vector<Contender> contenders_of(const RewriteState& start, const SearchResult& result,
                                     int count);

/// A sum over operators can mislead: runs the original and the contenders end to end, as many at
/// once as there may be. InputError when one cannot be run.
BenchmarkResult confirm_end_to_end(Contestants& contestants, int contenders,
                                   const BenchmarkOptions& options);

/// Makes contestant `winner` the result of the search.
void take_winner(const Graph& original, const std::vector<Contender>& contenders, int winner,
                 SearchResult& result);

}  // namespace reverie
