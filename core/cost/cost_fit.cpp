#include "core/cost/cost_fit.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

#include "core/base/error.h"
#include "core/base/words.h"
#include "core/cost/table.h"
#include "core/cost/weighted_costs.h"

namespace reverie {
namespace {

constexpr char kFitted[] = "fitted:";

/// What the prior said of the signatures that were measured; of others what it says.
class RecordedPrior : public CostModel {
 public:
  RecordedPrior(std::shared_ptr<CostModel> prior, std::map<std::string, Cost> signatures)
      : prior_(std::move(prior)), signatures_(std::move(signatures)) {}

  std::string name() const override { return prior_->name(); }
  CostSource source() const override { return prior_->source(); }
  bool deterministic() const override { return prior_->deterministic(); }
  Counters counters() const override {
    return {.lookups = lookups_.load(),
            .measurements = prior_->counters().measurements,
            .estimates = estimates_.load(),
            .operators = operators_.load()};
  }

  Cost cost(const OpSignature& signature) override {
    ++lookups_;
    const auto known = signatures_.find(signature.text());
    const Cost cost = known != signatures_.end() ? known->second : prior_->cost(signature);
    if (cost.launches == 0) return cost;
    ++operators_;
    if (known == signatures_.end()) ++estimates_;
    return cost;
  }

 private:
  std::shared_ptr<CostModel> prior_;
  std::map<std::string, Cost> signatures_;
  std::atomic<int64_t> lookups_{0}, estimates_{0}, operators_{0};
};

/// A signature of the fit, for people.
struct Described {
  std::string text;
  double prior = 0;  ///< scaled, seconds
  double fitted = 0;

  double apart() const { return std::abs(fitted - prior); }
};

std::vector<Described> farthest_first(const CostFit& fit) {
  std::vector<Described> all;
  for (const auto& [text, cost] : fit.signatures) {
    Described row{text, fit.scale * cost.runtime.seconds(), 0};
    row.fitted = row.prior;
    for (const auto& [name, value] : features_of(op_of(text), text, cost, fit.small))
      row.fitted += value * fit.weights.at(name);
    all.push_back(std::move(row));
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Described& a, const Described& b) { return a.apart() > b.apart(); });
  return all;
}

}  // namespace

void check_prior_of_fit(const CostModel& prior) {
  if (!prior.deterministic())
    throw InputError(
        "costs fitted to '{}', which measures, could not be read where that does not measure "
        "the same; fit roofline:<device>, or table:FILE with what it has measured",
        prior.name());
  if (prior.name().starts_with(kFitted))
    throw InputError("'{}' is fitted already; fit the source that it was fitted to", prior.name());
}

std::shared_ptr<CostModel> make_fitted_cost_model(const std::string& path) {
  CostFit fit = read_cost_fit(path);
  auto prior =
      std::make_shared<RecordedPrior>(make_cost_model(fit.prior), std::move(fit.signatures));
  return std::make_shared<WeightedCosts>(kFitted + path, std::move(prior), fit.scale, fit.small,
                                         FeatureWeights(fit.weights.begin(), fit.weights.end()),
                                         [](const std::string&) { return 0.0; });
}

std::string describe(const CostFit& fit) {
  constexpr double kMilli = 1e-3;
  std::string text = fmt::format(
      "costs fitted to {} of {}, rewrites of {}\n  device   {}\n  library  {}\n"
      "  prior    {}, scaled by {:.4g}; operators deviate from that by {:.2g} of it\n"
      "  sums of operators miss times by {:.2g} of them\n",
      counted(fit.measurements, "measurement"), counted(fit.seconds.size(), "graph"), fit.model,
      fit.device, fit.library, fit.prior, fit.scale, fit.deviation, fit.mismatch);
  if (!fit.seconds.empty())
    text +=
        fmt::format("  measured {:.4f} ms at first, {:.4f} ms at least\n", fit.seconds[0] / kMilli,
                    *std::min_element(fit.seconds.begin(), fit.seconds.end()) / kMilli);
  text += fmt::format("  {}; farthest from the scaled prior:\n",
                      counted(fit.signatures.size(), "operator"));
  constexpr size_t kShown = 10;
  const std::vector<Described> all = farthest_first(fit);
  for (size_t i = 0; i < std::min(kShown, all.size()); ++i)
    text += fmt::format("    {:>10.4f} ms, not {:>10.4f} ms  {}\n",
                        std::max(all[i].fitted, 0.0) / kMilli, all[i].prior / kMilli, all[i].text);
  return text;
}

}  // namespace reverie
