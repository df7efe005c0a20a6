#pragma once

#include <deque>
#include <optional>
#include <string>

#include "core/exec/compare.h"
#include "core/onnx/symbols.h"
#include "env/rewrite/optimize/confirm.h"
#include "env/rewrite/optimize/optimize.h"
#include "env/rewrite/optimize/subject.h"

namespace reverie {

/// Says what speaks against graphs, each once: which symbolic dimensions their files would fix, how
/// they compare with the original, and once contestants are at hand, what a machine that runs files
/// computes.
/// For its time it has a share of what a person gave for the whole
/// (OptimizeConfig::search.time_limit).
class Judge {
 public:
  static constexpr double kShare = 0.2;

  /// Both outlive this.
  Judge(const Subject& subject, const OptimizeConfig& config);

  void ask(Contestants& contestants) { contestants_ = &contestants; }

  /// Empty: nothing does. Nothing speaks against a graph whose file is the original's.
  const std::string& objection_to(const Graph& graph) { return verdict_on(graph).objection; }
  /// How a graph was compared.
  const Agreement& agreement_of(const Graph& graph) { return verdict_on(graph).agreement; }
  /// How its file was tried with other extents; none where that was not needed.
  const std::optional<TriedGraph>& tried(const Graph& graph) { return verdict_on(graph).tried; }
  /// The same to the file of a contender that is rewritten nowhere; its number among the
  /// contestants.
  std::string objection_to_file(int contestant);

  /// 0: no limit.
  double seconds_left() const;

 private:
  struct Verdict {
    Graph graph;
    std::string objection;
    Agreement agreement;
    std::optional<TriedGraph> tried;
  };

  Verdict& verdict_on(const Graph& graph);
  void judge(Verdict& verdict) const;
  /// Tries its file with other extents.
  std::string objection_to_extents(Verdict& verdict) const;
  std::string objection_in_runtime(const Graph& graph) const;

  const Subject& subject_;
  const OptimizeConfig& config_;
  bool watches_symbols_;
  Contestants* contestants_ = nullptr;
  std::deque<Verdict> verdicts_;
  double spent_ = 0;
};

}  // namespace reverie
