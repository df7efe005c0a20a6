#include "env/placement/search/brkga.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/error.h"

namespace reverie {
namespace {

/// Gamma with scale 1 (Marsaglia and Tsang, ACM TOMS 26, 2000).
double draw_gamma(double shape, Rng& rng) {
  if (shape < 1) return draw_gamma(shape + 1, rng) * std::pow(1 - rng.uniform(), 1 / shape);
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = rng.normal(), root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log(1 - rng.uniform()) < x * x / 2 + d - d * v + d * std::log(v)) return d * v;
  }
}

double draw_beta(double alpha, double beta, Rng& rng) {
  if (alpha == 1 && beta == 1) return rng.uniform();
  const double a = draw_gamma(alpha, rng), b = draw_gamma(beta, rng);
  return a + b > 0 ? a / (a + b) : alpha / (alpha + beta);
}

struct Individual {
  std::vector<double> genes;
  double cost = 0;
};

class Population {
 public:
  Population(Evaluator& evaluator, const BrkgaOptions& options, const GeneBias& bias, Rng rng)
      : evaluator_(evaluator),
        layout_(evaluator.graph(), evaluator.topology().size()),
        options_(options),
        bias_(bias),
        rng_(rng),
        size_(static_cast<size_t>(options.population)),
        elites_(std::max<size_t>(1, share(options.elite))),
        mutants_(share(options.mutants)) {
    const auto fits = [&](const std::vector<double>& values) {
      return values.empty() || std::ssize(values) == layout_.genes();
    };
    REVERIE_CHECK(fits(bias.alpha) && fits(bias.beta) && fits(bias.elite));
    REVERIE_CHECK(bias.alpha.size() == bias.beta.size());
    REVERIE_CHECK(size_ >= 3 && elites_ + mutants_ < size_);
    for (size_t i = 0; i < size_ && !evaluator_.spent(); ++i) add(drawn());
    sort();
  }

  void next_generation() {
    std::vector<Individual> parents = std::exchange(members_, {});
    for (size_t i = elites_ + mutants_; i < size_ && !evaluator_.spent(); ++i) {
      const size_t elite = rng_.below(elites_);
      add(child(parents[elite].genes, parents[elites_ + rng_.below(size_ - elites_)].genes));
    }
    for (size_t i = 0; i < mutants_ && !evaluator_.spent(); ++i) add(drawn());
    const auto end_of_elites = parents.begin() + static_cast<std::ptrdiff_t>(elites_);
    std::move(parents.begin(), end_of_elites, std::back_inserter(members_));
    sort();
  }

 private:
  size_t share(double part) const {
    return static_cast<size_t>(std::lround(part * static_cast<double>(size_)));
  }

  std::vector<double> drawn() {
    std::vector<double> genes(static_cast<size_t>(layout_.genes()));
    for (size_t i = 0; i < genes.size(); ++i)
      genes[i] =
          bias_.alpha.empty() ? rng_.uniform() : draw_beta(bias_.alpha[i], bias_.beta[i], rng_);
    return genes;
  }

  std::vector<double> child(const std::vector<double>& elite, const std::vector<double>& other) {
    std::vector<double> genes(elite.size());
    for (size_t i = 0; i < genes.size(); ++i) {
      const double bias = bias_.elite.empty() ? options_.bias : bias_.elite[i];
      genes[i] = rng_.uniform() < bias ? elite[i] : other[i];
    }
    return genes;
  }

  void add(std::vector<double> genes) {
    const double cost = evaluator_.cost(evaluator_.evaluate(layout_.decode(genes)));
    members_.push_back({std::move(genes), cost});
  }

  void sort() { std::ranges::stable_sort(members_, {}, &Individual::cost); }

  Evaluator& evaluator_;
  GeneLayout layout_;
  const BrkgaOptions& options_;
  const GeneBias& bias_;
  Rng rng_;
  size_t size_, elites_, mutants_;
  std::vector<Individual> members_;  ///< the cheapest first
};

}  // namespace

GeneLayout::GeneLayout(const CostGraph& graph, int devices)
    : entities_(graph), devices_(devices), nodes_(graph.size()) {}

Placement GeneLayout::decode(std::span<const double> genes) const {
  REVERIE_CHECK(std::ssize(genes) == this->genes());
  const auto at = [&](int gene) { return genes.begin() + gene; };
  std::vector<int> devices;
  for (int entity = 0; entity < entities_.size(); ++entity) {
    const auto first = at(affinity(entity, 0));
    devices.push_back(static_cast<int>(std::max_element(first, first + devices_) - first));
  }
  Placement placement{entities_.spread(devices), {}};
  for (int node = 0; node < nodes_; ++node)
    placement.priority.push_back(static_cast<int64_t>(std::ldexp(*at(priority(node)), 53)));
  return placement;
}

void brkga(Evaluator& evaluator, const BrkgaOptions& options, const GeneBias& bias, Rng rng) {
  REVERIE_CHECK(evaluator.budget().evaluations > 0 || evaluator.budget().seconds > 0);
  Population population(evaluator, options, bias, rng);
  while (!evaluator.spent()) population.next_generation();
}

}  // namespace reverie
