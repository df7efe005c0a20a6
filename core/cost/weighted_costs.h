#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/cost/signature_cache.h"

namespace reverie {

/// A deviation from a scaled prior: it adds value * weight to a signature's time, the weight being
/// that of the name.
struct CostFeature {
  std::string name;
  double value = 0;
};

/// Of the operator `op` with the signature `text`, to which the prior gives `cost`: "operator OP",
/// "launch" and `text` itself. `small`: f of FittedCost, in seconds.
std::vector<CostFeature> features_of(const std::string& op, const std::string& text,
                                     const Cost& cost, double small);

using FeatureWeights = std::unordered_map<std::string, double>;

/// A prior times a scale, plus the weighted features, never below 0. Flops, bytes and launches are
/// the prior's. An estimate, whatever the prior is; deterministic where the prior is.
class WeightedCosts : public CostModel {
 public:
  /// The weight of a feature that `weights` does not have.
  using Unseen = std::function<double(const std::string& feature)>;

  WeightedCosts(std::string name, std::shared_ptr<CostModel> prior, double scale, double small,
                FeatureWeights weights, Unseen unseen);

  std::string name() const override { return name_; }
  CostSource source() const override { return CostSource::kEstimated; }
  bool deterministic() const override { return prior_->deterministic(); }
  Cost cost(const OpSignature& signature) override;
  /// Look-ups of this; everything else is the prior's.
  Counters counters() const override;

 private:
  std::string name_;
  std::shared_ptr<CostModel> prior_;
  double scale_, small_;
  FeatureWeights weights_;
  Unseen unseen_;
  SignatureCache cache_;
  std::atomic<int64_t> lookups_{0};
};

}  // namespace reverie
