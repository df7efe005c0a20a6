#include "core/base/separable_cmaes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace reverie {
namespace {

using Function = std::function<double(const std::vector<double>&)>;

/// Points evaluated until one is below `target`; `limit` when none was.
int evaluations(const Function& function, size_t n, double target, int limit) {
  SeparableCmaEs strategy(std::vector<double>(n, 3.0), 1.0);
  Rng rng(7);
  for (int count = 0; count < limit;) {
    std::vector<double> costs;
    for (const std::vector<double>& point : strategy.ask(rng)) {
      costs.push_back(function(point));
      if (++count, costs.back() < target) return count;
    }
    strategy.tell(costs);
  }
  return limit;
}

double sphere(const std::vector<double>& x) {
  double sum = 0;
  for (const double value : x) sum += value * value;
  return sum;
}

double ellipsoid(const std::vector<double>& x) {
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i)
    sum += std::pow(1e6, static_cast<double>(i) / static_cast<double>(x.size() - 1)) * x[i] * x[i];
  return sum;
}

TEST(SeparableCmaEs, SolvesTheSphere) { EXPECT_LT(evaluations(sphere, 10, 1e-9, 10000), 2500); }

TEST(SeparableCmaEs, LearnsTheScalesOfAnAxisParallelEllipsoid) {
  EXPECT_LT(evaluations(ellipsoid, 10, 1e-9, 100000), 6000);
}

TEST(SeparableCmaEs, FollowsALinearSlopeWithLongerSteps) {
  SeparableCmaEs strategy(std::vector<double>(5, 0.0), 1.0);
  Rng rng(1);
  for (int i = 0; i < 50; ++i) {
    std::vector<double> costs;
    for (const std::vector<double>& point : strategy.ask(rng)) costs.push_back(point[0]);
    strategy.tell(costs);
  }
  EXPECT_GT(strategy.sigma(), 2);
  EXPECT_LT(strategy.mean()[0], -50);
}

TEST(SeparableCmaEs, GoesOnFromItsState) {
  SeparableCmaEs one({1, 2, 3}, 1, 10), other({0, 0, 0}, 9, 10);
  const auto generation = [&](SeparableCmaEs& strategy) {
    Rng of_points(5);
    std::vector<double> costs;
    for (const auto& point : strategy.ask(of_points)) costs.push_back(ellipsoid(point));
    EXPECT_EQ(costs.size(), 10u);
    strategy.tell(costs);
  };
  for (int i = 0; i < 3; ++i) generation(one);
  other.set_state(one.state());
  for (int i = 0; i < 3; ++i) {
    generation(one);
    generation(other);
    EXPECT_EQ(one.mean(), other.mean());
    EXPECT_EQ(one.sigma(), other.sigma());
  }
}

TEST(SeparableCmaEs, EqualSeedsGiveEqualPoints) {
  SeparableCmaEs one({0, 0}, 1), two({0, 0}, 1);
  Rng rng_one(3), rng_two(3);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(one.ask(rng_one), two.ask(rng_two));
    const std::vector<double> costs(one.population(), 0.0);
    one.tell(costs);
    two.tell(costs);
  }
}

}  // namespace
}  // namespace reverie
