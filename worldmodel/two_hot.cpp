#include "worldmodel/two_hot.h"

#include <cmath>

#include "core/base/error.h"
#include "worldmodel/mdn.h"

namespace reverie {

TwoHot::TwoHot(int bins, double limit) {
  REVERIE_CHECK(bins % 2 == 1 && bins > 1 && limit > 0);
  const auto steps = (torch::arange(bins) - bins / 2) / static_cast<double>(bins / 2);
  centres_ = steps.sign() * torch::expm1(steps.abs() * std::log1p(limit));
}

torch::Tensor TwoHot::loss(const torch::Tensor& logits, const torch::Tensor& x) const {
  const auto centres = centres_.to(logits.device());
  const auto within = x.clamp(centres_[0].item<double>(), centres_[-1].item<double>());
  const auto above = torch::bucketize(within, centres).clamp(1, bins() - 1);
  const auto low = centres.index({above - 1}), high = centres.index({above});
  const auto weight = ((within - low) / (high - low)).unsqueeze(-1);
  const auto log_p = torch::log_softmax(logits, -1);
  const auto at = above.unsqueeze(-1);
  return -(weight * log_p.gather(-1, at) + (1 - weight) * log_p.gather(-1, at - 1)).squeeze(-1);
}

torch::Tensor TwoHot::mean(const torch::Tensor& logits) const {
  return (torch::softmax(logits, -1) * centres_.to(logits.device())).sum(-1);
}

torch::Tensor TwoHot::sample(const torch::Tensor& logits, double temperature,
                             torch::Generator noise) const {
  const auto centres = centres_.to(logits.device());
  const auto rows = logits.reshape({-1, bins()});
  const auto bin = draw_category(rows, temperature, noise).view(logits.sizes().slice(0, logits.dim() - 1));
  if (temperature > 0) return centres.index({bin});
  const auto away = (torch::arange(bins(), bin.options()) - bin.unsqueeze(-1)).abs();
  return mean(logits.masked_fill(away > 1, -INFINITY));
}

}  // namespace reverie
