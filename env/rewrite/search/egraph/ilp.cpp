#include "env/rewrite/search/egraph/ilp.h"

#include <fmt/format.h>

#include <CbcEventHandler.hpp>
#include <CbcModel.hpp>
#include <CbcSolver.hpp>
#include <ClpEventHandler.hpp>
#include <CoinPackedMatrix.hpp>
#include <OsiClpSolverInterface.hpp>
#include <algorithm>
#include <chrono>

#include "core/base/error.h"
#include "env/rewrite/search/egraph/cycles.h"

namespace reverie {
namespace {

/// When the solver has to stop; shared by the handlers, which the solver copies.
struct Limit {
  const OutOfTime& out_of_time;
  std::chrono::steady_clock::time_point end;
  bool inside = false;  ///< a linear program was cut short, so that bounds mean nothing
  bool reached = false;

  bool check() {
    reached = reached || out_of_time() || std::chrono::steady_clock::now() >= end;
    return reached;
  }
};

class StopBetweenNodes : public CbcEventHandler {
 public:
  explicit StopBetweenNodes(Limit* limit) : limit_(limit) {}
  CbcEventHandler* clone() const override { return new StopBetweenNodes(*this); }
  CbcAction event(CbcEvent) override { return limit_->check() ? stop : noAction; }

 private:
  Limit* limit_;
};

class StopBetweenPivots : public ClpEventHandler {
 public:
  explicit StopBetweenPivots(Limit* limit) : limit_(limit) {}
  ClpEventHandler* clone() const override { return new StopBetweenPivots(*this); }
  int event(Event which) override {
    constexpr int kGoOn = -1;
    constexpr int kStop = 0;
    constexpr int kBetweenClocks = 16;
    if (which != endOfIteration || ++calls_ % kBetweenClocks != 0 || !limit_->check()) return kGoOn;
    limit_->inside = true;
    return kStop;
  }

 private:
  Limit* limit_;
  int calls_ = 0;
};

/// The program. Columns: a binary one per node that can be chosen, then a continuous one in [0, 1]
/// per class, which says whether it is needed, then one per constant where weights are limited.
class Program {
 public:
  Program(const ExtractionProblem& problem, const Selection& start)
      : problem_(problem), allowed_(allow_without_cycles(problem, start)) {
    reach();
    number();
    add_rows();
  }

  int columns() const { return column_count_; }
  int rows() const { return static_cast<int>(lower_.size()); }

  void load(OsiClpSolverInterface& solver) const {
    CoinPackedMatrix matrix(false, row_.data(), column_.data(), value_.data(),
                            static_cast<CoinBigIndex>(value_.size()));
    matrix.setDimensions(rows(), column_count_);
    const std::vector<double> zeros(static_cast<size_t>(column_count_), 0);
    std::vector<double> upper(static_cast<size_t>(column_count_), 1);
    std::vector<double> costs(static_cast<size_t>(column_count_), 0);
    for (size_t i = 0; i < problem_.nodes.size(); ++i)
      if (node_column_[i] >= 0)
        costs[static_cast<size_t>(node_column_[i])] = scaled(problem_.nodes[i].cost);
    solver.loadProblem(matrix, zeros.data(), upper.data(), costs.data(), lower_.data(),
                       upper_.data());
    for (const int column : node_column_)
      if (column >= 0) solver.setInteger(column);
  }

  /// Values of all columns for a selection.
  std::vector<double> solution_of(const Selection& selection) const {
    std::vector<double> values(static_cast<size_t>(column_count_), 0);
    Follower follower(problem_);
    REVERIE_CHECK(follower.cost(selection).has_value());
    for (const int root : problem_.roots) set(values, class_column_[static_cast<size_t>(root)]);
    for (const int chosen : follower.nodes()) {
      const auto i = static_cast<size_t>(chosen);
      set(values, node_column_[i]);
      for (const int input : problem_.nodes[i].inputs)
        set(values, class_column_[static_cast<size_t>(input)]);
      if (!weight_column_.empty())
        for (const int weight : problem_.nodes[i].weights)
          set(values, weight_column_[static_cast<size_t>(weight)]);
    }
    return values;
  }

  Selection selection_of(const double* values) const {
    constexpr double kChosen = 0.5;
    Selection selection(problem_.members.size(), -1);
    for (size_t i = 0; i < problem_.nodes.size(); ++i) {
      if (node_column_[i] < 0 || values[node_column_[i]] < kChosen) continue;
      const auto& outputs = problem_.nodes[i].outputs;
      for (size_t k = 0; k < outputs.size(); ++k)
        if (allowed_[i][k]) selection[static_cast<size_t>(outputs[k])] = static_cast<int>(i);
    }
    return selection;
  }

  static double scaled(int64_t picoseconds) { return static_cast<double>(picoseconds) * 1e-3; }

 private:
  static void set(std::vector<double>& values, int column) {
    values[static_cast<size_t>(column)] = 1;
  }

  /// Whether the node may be taken for the class.
  bool computes(int node, int wanted) const {
    const auto& outputs = problem_.nodes[static_cast<size_t>(node)].outputs;
    const auto at = std::lower_bound(outputs.begin(), outputs.end(), wanted) - outputs.begin();
    return allowed_[static_cast<size_t>(node)][static_cast<size_t>(at)] != 0;
  }

  void reach() {
    node_column_.assign(problem_.nodes.size(), -1);
    class_column_.assign(problem_.members.size(), -1);
    const auto enter = [&](int needed) {
      if (std::exchange(class_column_[static_cast<size_t>(needed)], 0) < 0)
        classes_.push_back(needed);
    };
    std::for_each(problem_.roots.begin(), problem_.roots.end(), enter);
    for (size_t i = 0; i < classes_.size(); ++i)  // grows meanwhile
      for (const int member : problem_.members[static_cast<size_t>(classes_[i])]) {
        if (!computes(member, classes_[i])) continue;
        node_column_[static_cast<size_t>(member)] = 0;
        const auto& inputs = problem_.nodes[static_cast<size_t>(member)].inputs;
        std::for_each(inputs.begin(), inputs.end(), enter);
      }
  }

  void number() {
    for (int& column : node_column_)
      if (column >= 0) column = column_count_++;
    for (int& column : class_column_)
      if (column >= 0) column = column_count_++;
    if (!problem_.limited()) return;
    for (size_t i = 0; i < problem_.weight_bytes.size(); ++i)
      weight_column_.push_back(column_count_++);
  }

  void add(int column, double value) {
    row_.push_back(rows());
    column_.push_back(column);
    value_.push_back(value);
  }
  void end_row(double lower, double upper) {
    lower_.push_back(lower);
    upper_.push_back(upper);
  }

  void add_rows() {
    for (const int root : problem_.roots) {
      add(class_column_[static_cast<size_t>(root)], 1);
      end_row(1, 1);
    }
    for (const int needed : classes_) {  // one of those that compute it
      for (const int member : problem_.members[static_cast<size_t>(needed)])
        if (computes(member, needed)) add(node_column_[static_cast<size_t>(member)], 1);
      add(class_column_[static_cast<size_t>(needed)], -1);
      end_row(0, COIN_DBL_MAX);
    }
    for (size_t i = 0; i < problem_.nodes.size(); ++i) {
      if (node_column_[i] < 0) continue;
      for (const int input : problem_.nodes[i].inputs) {
        add(class_column_[static_cast<size_t>(input)], 1);
        add(node_column_[i], -1);
        end_row(0, COIN_DBL_MAX);
      }
    }
    if (!weight_column_.empty()) limit_weights();
  }

  void limit_weights() {
    for (size_t i = 0; i < problem_.nodes.size(); ++i) {
      if (node_column_[i] < 0) continue;
      for (const int weight : problem_.nodes[i].weights) {
        add(weight_column_[static_cast<size_t>(weight)], 1);
        add(node_column_[i], -1);
        end_row(0, COIN_DBL_MAX);
      }
    }
    const auto limit = static_cast<double>(std::max<int64_t>(problem_.weight_limit, 1));
    for (size_t i = 0; i < weight_column_.size(); ++i)
      add(weight_column_[i], static_cast<double>(problem_.weight_bytes[i]) / limit);
    end_row(0, problem_.weight_limit > 0 ? 1 : 0);
  }

  const ExtractionProblem& problem_;
  std::vector<std::vector<uint8_t>> allowed_;
  std::vector<int> classes_;  // that can be needed
  std::vector<int> node_column_, class_column_, weight_column_;
  int column_count_ = 0;
  std::vector<int> row_, column_;
  std::vector<double> value_, lower_, upper_;
};

int keep_on(CbcModel*, int) { return 0; }

/// Runs CBC as its command line does: presolve, cuts, heuristics, branch and bound.
void solve(CbcModel& model, double seconds) {
  CbcSolverUsefulData data;
  data.noPrinting_ = true;
  data.useSignalHandler_ = false;
  CbcMain0(model, data);
  const std::string limit = fmt::format("{}", seconds);
  const char* arguments[] = {
      "cbc",     "-log",           "0",           "-slog",       "0",    "-threads",
      "0",       "-randomCbcSeed", "1",           "-randomSeed", "1",    "-timeMode",
      "elapsed", "-seconds",       limit.c_str(), "-solve",      "-quit"};
  CbcMain1(static_cast<int>(std::size(arguments)), arguments, model, keep_on, data);
}

std::string status_of(const CbcModel& model, const Limit& limit, int64_t cost) {
  if (!limit.inside && model.isProvenOptimal()) return "optimal";
  const double bound = model.getBestPossibleObjValue() / Program::scaled(1);
  if (limit.inside || bound <= 0) return "gap unknown";
  return fmt::format("gap {:.2f}%", 100 * std::max(0.0, static_cast<double>(cost) / bound - 1));
}

}  // namespace

IlpResult extract_by_ilp(const ExtractionProblem& problem, const Selection& start, double seconds,
                         const OutOfTime& out_of_time) {
  IlpResult result;
  result.selection = start;
  Follower follower(problem);
  const auto start_cost = follower.cost(start);
  REVERIE_CHECK(start_cost.has_value());
  const Program program(problem, start);

  Limit limit{out_of_time, std::chrono::steady_clock::now() +
                               std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                   std::chrono::duration<double>(seconds))};
  OsiClpSolverInterface solver;
  solver.messageHandler()->setLogLevel(0);
  program.load(solver);
  StopBetweenPivots between_pivots(&limit);
  solver.getModelPtr()->passInEventHandler(&between_pivots);
  CbcModel model(solver);
  model.setLogLevel(0);
  StopBetweenNodes between_nodes(&limit);
  model.passInEventHandler(&between_nodes);
  const std::vector<double> first = program.solution_of(start);
  model.setBestSolution(first.data(), program.columns(), Program::scaled(*start_cost), true);
  solve(model, seconds);

  if (model.bestSolution() != nullptr) {
    const Selection found = program.selection_of(model.bestSolution());
    const auto cost = follower.cost(found);
    if (cost && *cost < *start_cost) result.selection = found;
  }
  result.status = status_of(model, limit, *follower.cost(result.selection));
  return result;
}

}  // namespace reverie
