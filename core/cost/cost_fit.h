#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/cost/cost_model.h"

namespace reverie {

/// Version of the file; another one is refused.
inline constexpr int kCostFitSchema = 1;

/// Costs of operators that FittedCost learned from timed graphs, as the numbers that they follow
/// from. As a file: HDF5 without times, so that equal content is equal bytes, sealed as "reverie
/// cost fit" (core/hdf5/seal.h). Data sets, all of one dimension: `prior`, `device`, `library`,
/// `model` (text, as uint8); `measurements` (int64) and `scale`, `small`, `deviation`, `mismatch`
/// (float64), of one element each; by graph `graph_seconds` and `graph_deviations` (float64); by
/// ascending signature `signatures` (uint8, all texts one after the other), `signature_bytes`
/// (unsigned integers of 1, 2 or 4 bytes, the size of each text), `prior_ps`, `flops`, `bytes`,
/// `launches` (int64); by ascending feature `features`, `feature_bytes` (as the signatures) and
/// `weights` (float64).
struct CostFit {
  std::string prior;    ///< the cost source that was fitted: "roofline:cpu"
  std::string device;   ///< where graphs were measured: "AMD EPYC, 1 threads"
  std::string library;  ///< and by what: "oneDNN 2.6.3, avx512_core"
  std::string model;    ///< of which they are rewrites
  int64_t measurements = 0;
  std::vector<double> seconds;             ///< of each graph, the model itself first
  std::vector<double> deviations;          ///< of these, as measurements
  double scale = 1;                        ///< FittedCost's posterior mean of a
  double small = 0;                        ///< f, in seconds
  double deviation = 0;                    ///< r
  double mismatch = 0;                     ///< m
  std::map<std::string, Cost> signatures;  ///< what the prior said, by OpSignature::text()
  std::map<std::string, double>
      weights;  ///< posterior means, by feature (core/cost/weighted_costs.h)

  bool operator==(const CostFit&) const = default;
};

/// InputError with one line when the file is missing, holds no fitted costs, is of another version
/// or damaged.
CostFit read_cost_fit(const std::string& path);
/// Written aside and renamed.
void write_cost_fit(const std::string& path, const CostFit& fit);
/// Whether the file begins as fitted costs; false for missing files too.
bool is_cost_fit(const std::string& path);

/// InputError where what is fitted to this source could not be predicted from a file alone: it
/// measures, or is read from such a file itself.
void check_prior_of_fit(const CostModel& prior);

/// For `reverie inspect`: what was measured and where, and the operators farthest from the prior.
std::string describe(const CostFit& fit);

/// "fitted:FILE"; an estimate, deterministic. Predicts what the FittedCost predicts that the file
/// was written from, to the last bit. A signature that no measured graph had is estimated by the
/// prior under the scale and the operator's deviation, as there, and counts as an estimate.
std::shared_ptr<CostModel> make_fitted_cost_model(const std::string& path);

}  // namespace reverie
