#include "worldmodel/heads.h"

#include "worldmodel/mdn.h"
#include "worldmodel/two_hot.h"

namespace reverie {
namespace {

namespace F = torch::nn::functional;

constexpr int kChangeBins = 31;
constexpr double kChangeLimit = 10;  // as Normalizer
constexpr int kRewardBins = 63;
constexpr double kRewardLimit = 100;

class MixtureChange : public ChangeHead {
 public:
  MixtureChange(int mixtures, int dimensions, double min_log_sigma)
      : mixtures_(mixtures), dimensions_(dimensions), min_log_sigma_(min_log_sigma) {}
  int64_t columns() const override { return Mixture::columns(mixtures_, dimensions_); }
  torch::Tensor loss(const torch::Tensor& columns, const torch::Tensor& change) const override {
    return of(columns).negative_log_likelihood(change) / dimensions_;
  }
  torch::Tensor mean(const torch::Tensor& columns) const override { return of(columns).mean(); }
  torch::Tensor sample(const torch::Tensor& columns, double temperature,
                       torch::Generator noise) const override {
    return Mixture::sample_columns(columns, mixtures_, dimensions_, min_log_sigma_, temperature, noise);
  }

 private:
  Mixture of(const torch::Tensor& columns) const {
    return Mixture::from_columns(columns, mixtures_, dimensions_, min_log_sigma_);
  }

  int mixtures_, dimensions_;
  double min_log_sigma_;
};

class ResidualChange : public ChangeHead {
 public:
  explicit ResidualChange(int dimensions) : dimensions_(dimensions) {}
  int64_t columns() const override { return dimensions_; }
  torch::Tensor loss(const torch::Tensor& columns, const torch::Tensor& change) const override {
    return F::huber_loss(columns, change, F::HuberLossFuncOptions().reduction(torch::kNone)).mean(-1);
  }
  torch::Tensor mean(const torch::Tensor& columns) const override { return columns; }
  torch::Tensor sample(const torch::Tensor& columns, double, torch::Generator) const override {
    return columns;
  }

 private:
  int dimensions_;
};

class CategoricalChange : public ChangeHead {
 public:
  explicit CategoricalChange(int dimensions) : dimensions_(dimensions) {}
  int64_t columns() const override { return dimensions_ * bins_.bins(); }
  torch::Tensor loss(const torch::Tensor& columns, const torch::Tensor& change) const override {
    return bins_.loss(of(columns), change).mean(-1);
  }
  torch::Tensor mean(const torch::Tensor& columns) const override {
    return bins_.mean(of(columns));
  }
  torch::Tensor sample(const torch::Tensor& columns, double temperature,
                       torch::Generator noise) const override {
    return bins_.sample(of(columns), temperature, noise);
  }

 private:
  torch::Tensor of(const torch::Tensor& columns) const {
    return columns.unflatten(-1, {dimensions_, bins_.bins()});
  }

  int64_t dimensions_;
  TwoHot bins_{kChangeBins, kChangeLimit};
};

class RewardRegression : public RewardHead {
 public:
  int64_t columns() const override { return 1; }
  torch::Tensor loss(const torch::Tensor& columns, const torch::Tensor& reward) const override {
    return (mean(columns) - reward).square();
  }
  torch::Tensor mean(const torch::Tensor& columns) const override { return columns.squeeze(-1); }
};

class RewardTwoHot : public RewardHead {
 public:
  int64_t columns() const override { return bins_.bins(); }
  torch::Tensor loss(const torch::Tensor& columns, const torch::Tensor& reward) const override {
    return bins_.loss(columns, reward);
  }
  torch::Tensor mean(const torch::Tensor& columns) const override { return bins_.mean(columns); }

 private:
  TwoHot bins_{kRewardBins, kRewardLimit};
};

}  // namespace

std::unique_ptr<ChangeHead> make_change_head(ChangeHeadKind kind, int mixtures, int dimensions,
                                             double min_log_sigma) {
  if (kind == ChangeHeadKind::kResidual) return std::make_unique<ResidualChange>(dimensions);
  if (kind == ChangeHeadKind::kCategorical) return std::make_unique<CategoricalChange>(dimensions);
  return std::make_unique<MixtureChange>(mixtures, dimensions, min_log_sigma);
}

std::unique_ptr<RewardHead> make_reward_head(RewardHeadKind kind) {
  if (kind == RewardHeadKind::kTwoHot) return std::make_unique<RewardTwoHot>();
  return std::make_unique<RewardRegression>();
}

}  // namespace reverie
