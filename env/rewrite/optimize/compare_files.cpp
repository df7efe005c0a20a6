#include "env/rewrite/optimize/compare_files.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/base/error.h"

namespace reverie {
namespace {

double error_between(const Tensor& reference, const Tensor& other) {
  const std::vector<double> a = reference.to_doubles(), b = other.to_doubles();
  double apart = 0, largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    if (!std::isfinite(a[i] - b[i])) return std::numeric_limits<double>::quiet_NaN();
    apart = std::max(apart, std::fabs(a[i] - b[i]));
  }
  for (const double x : a)
    if (std::isfinite(x)) largest = std::max(largest, std::fabs(x));
  return apart == 0 ? 0 : apart / largest;
}

class FileRound : public BenchmarkRound {
 public:
  FileRound(std::span<const int> contestants, const std::vector<std::filesystem::path>& files,
            const Graph& graph, Machine& machine) {
    for (const int i : contestants)
      ready_[i] = machine.ready_file(files[static_cast<size_t>(i)], graph);
  }
  double run(int contestant) override { return ready_.at(contestant)->seconds_of_run(); }

 private:
  std::map<int, std::unique_ptr<ReadyGraph>> ready_;
};

}  // namespace

double worst_error(const std::vector<NamedTensor>& reference,
                   const std::vector<NamedTensor>& other) {
  double worst = 0;
  if (reference.size() != other.size()) throw InputError("the models differ in their outputs");
  for (size_t i = 0; i < reference.size(); ++i) {
    const Tensor &a = reference[i].tensor, &b = other[i].tensor;
    if (reference[i].name != other[i].name || a.type() != b.type())
      throw InputError("output {} is '{}' ({}) in one model and '{}' ({}) in the other", i,
                       reference[i].name, to_string(a.type()), other[i].name, to_string(b.type()));
    const double error = error_between(a, b);
    if (!(error <= worst)) worst = error;
    if (std::isnan(error)) break;
  }
  return worst;
}

FileComparison compare_files(const std::vector<std::filesystem::path>& files,
                             const ImportOptions& shapes, Machine& machine, Machine& reference,
                             double tolerance, const BenchmarkOptions& options) {
  if (files.empty()) throw InputError("there is no model to compare");
  if (!machine.runs_files() || !reference.runs_files())
    throw InputError("machine {} runs no model files; ort does", machine.name());
  const Graph graph = import_onnx(files.front(), shapes).graph;
  FileComparison result;
  const std::vector<NamedTensor> expected = machine.outputs_of_file(files.front(), graph);
  const std::vector<NamedTensor> plain = reference.outputs_of_file(files.front(), graph);
  for (const std::filesystem::path& file : files)
    with_context(file.string(), [&] {
      const std::vector<NamedTensor> found = machine.outputs_of_file(file, graph);
      const double error = worst_error(expected, found), other = worst_error(plain, found);
      result.errors.push_back(error <= other || std::isnan(other) ? error : other);
    });
  std::vector<size_t> agreeing = {0};
  for (size_t i = 1; i < files.size(); ++i)
    if (result.errors[i] <= tolerance) agreeing.push_back(i);
  std::vector<std::filesystem::path> contestants;
  for (const size_t i : agreeing) contestants.push_back(files[i]);
  const NewRound new_round = [&](std::span<const int> round) {
    return std::make_unique<FileRound>(round, contestants, graph, machine);
  };
  const BenchmarkResult found =
      run_paired_benchmark(static_cast<int>(agreeing.size()), new_round, options);
  result.benchmark.contestants.resize(files.size());
  for (size_t i = 0; i < agreeing.size(); ++i)
    result.benchmark.contestants[agreeing[i]] = found.contestants[i];
  result.benchmark.winner = static_cast<int>(agreeing[static_cast<size_t>(found.winner)]);
  result.machine = machine.info();
  return result;
}

}  // namespace reverie
