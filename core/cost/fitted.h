#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/cost/cost_fit.h"
#include "core/cost/cost_model.h"
#include "core/cost/signature_counts.h"

namespace reverie {

/// A graph, timed end to end.
struct TimedGraph {
  std::vector<SignatureCount> counts;
  double seconds = 0;    ///< above 0
  double deviation = 0;  ///< standard deviation of `seconds` as a measurement
};

/// Costs of operators learned from whole graphs. The time of graph i is a noisy sum over its
/// signatures s, of which it has c_is:
///
///   y_i = sum_s c_is w_s + e_i        w_s = p_s (a + b_op(s)) + q_s d_s + f k_s l
///
/// p_s: what `prior` says of the signature, k_s: its launches, f: a tenth of the mean p of a launch
/// over the measured graphs, q_s = max(p_s, f). Unknown, and a priori independent and normal: one
/// scale a ~ N(a0, a0^2), a0 the median of y_i / sum_s c_is p_s; and, each ~ N(0, (r a0)^2), a
/// deviation b for each operator by name, d for each signature, l for a launch. e_i ~ N(0,
/// deviation_i^2 + (m y_i)^2): m is what sums cannot explain. r and m are the likeliest of a grid,
/// a priori about 0.3 and 0.01 (log-normal, times or divided by e).
///
/// That is Bayesian linear regression (Rasmussen and Williams, "Gaussian Processes for Machine
/// Learning", 2006), solved in the form that inverts one n x n matrix for n measurements: mean and
/// variance by equation 2.12, likelihood by 2.30. A signature that no graph had is estimated by the
/// prior under the scale and the operator's deviation.
///
/// As a cost model: the posterior mean, never negative; flops, bytes and launches are the prior's.
/// An estimate, whatever the prior is; deterministic where the prior is.
class FittedCost : public CostModel {
 public:
  struct Prediction {
    double seconds = 0;
    double deviation = 0;  ///< of the graph's expected time; noise of a measurement comes on top
  };
  virtual Prediction predict(std::span<const SignatureCount> counts) const = 0;

  /// A draw from the posterior over all costs at once, unseen signatures included, for Thompson
  /// sampling; equal seeds give equal draws. Drawn from the prior and corrected by the measurements
  /// (Matheron's rule; Wilson et al., "Efficiently sampling functions from Gaussian process
  /// posteriors", ICML 2020).
  virtual std::shared_ptr<CostModel> sample(uint64_t seed) const = 0;

  /// What its costs follow from, to be kept in a file. What was measured, how often and where is
  /// for who measured to add.
  virtual CostFit fit() const = 0;

  virtual double scale() const = 0;      ///< posterior mean of a
  virtual double deviation() const = 0;  ///< r
  virtual double mismatch() const = 0;   ///< m

  CostSource source() const override { return CostSource::kEstimated; }
};

/// Named like "roofline:cpu fitted to 57 measurements"; its counters say the look-ups of this, and
/// measurements and operators of the prior. Without measurements the prior as it stands. InputError
/// unless every time is above 0, and its graph has work that the prior gives a time to; and where
/// the program was built without Eigen.
std::shared_ptr<FittedCost> fitted_cost(std::shared_ptr<CostModel> prior,
                                        std::span<const TimedGraph> measured);

}  // namespace reverie
