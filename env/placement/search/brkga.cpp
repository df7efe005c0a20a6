#include "env/placement/search/brkga.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/error.h"

namespace reverie {
namespace {

constexpr double kUniformWidth = 3.4641016151377544;  // sqrt(12): variance 1

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

/// By node: nodes on the longest path before it.
std::vector<int> levels(const CostGraph& graph) {
  std::vector<int> levels(static_cast<size_t>(graph.size()));
  for (const int node : graph.order()) {
    const auto [first, end] = graph.outputs(node);
    for (int tensor = first; tensor < end; ++tensor)
      for (const int reader : graph.tensors()[static_cast<size_t>(tensor)].readers) {
        int& level = levels[static_cast<size_t>(reader)];
        level = std::max(level, levels[static_cast<size_t>(node)] + 1);
      }
  }
  return levels;
}

/// Ranks, equal values with equal ones, on a scale where they are uniform with mean 0 and variance
/// 1.
std::vector<double> positions(const std::vector<int>& values) {
  std::vector<int> sorted = values;
  std::ranges::sort(sorted);
  std::vector<double> positions;
  for (const int value : values) {
    const auto [first, end] = std::ranges::equal_range(sorted, value);
    const auto sum = static_cast<double>((first - sorted.begin()) + (end - sorted.begin()));
    positions.push_back(kUniformWidth * (sum / 2 / static_cast<double>(values.size()) - 0.5));
  }
  return positions;
}

/// Of the devices' speed on what all can run, or all equal.
std::vector<double> shares(const Simulator& simulator, PlacementObjective objective) {
  const int devices = simulator.topology().size();
  std::vector<double> times(static_cast<size_t>(devices), 1);
  const auto add = [&](int node) {
    for (int device = 0; device < devices; ++device)
      if (!simulator.can_run(node, device)) return;
    for (int device = 0; device < devices; ++device)
      times[static_cast<size_t>(device)] += static_cast<double>(simulator.cost(node, device).count);
  };
  if (objective == PlacementObjective::kMakespan)
    for (int node = 0; node < simulator.graph().size(); ++node) add(node);
  double speed = 0;
  for (const double time : times) speed += 1 / time;
  std::vector<double> shares;
  for (const double time : times) shares.push_back(1 / time / speed);
  return shares;
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

GeneBias pipeline_bias(const Simulator& simulator, PlacementObjective objective) {
  constexpr double kWeight = 1.2;
  const GeneLayout layout(simulator.graph(), simulator.topology().size());
  const std::vector<int> of_node = levels(simulator.graph());
  std::vector<int> of_entity;
  for (int entity = 0; entity < layout.entities().size(); ++entity)
    of_entity.push_back(of_node[static_cast<size_t>(layout.entities().nodes(entity).front())]);
  const std::vector<double> share = shares(simulator, objective);

  const auto genes = static_cast<size_t>(layout.genes());
  GeneBias bias{std::vector<double>(genes, 1), std::vector<double>(genes, 1), {}};
  size_t gene = 0;  // affinities come first
  for (const double z : positions(of_entity)) {
    double begin = 0;
    for (const double s : share) {
      const double c = kUniformWidth * (begin + s / 2 - 0.5);
      const double x =
          kWeight * (c * z - c * c / 2) + std::log(s * static_cast<double>(share.size()));
      bias.alpha[gene] = 2 * std::clamp(1 / (1 + std::exp(-x)), 0.01, 0.99);
      bias.beta[gene] = 2 - bias.alpha[gene];
      begin += s;
      ++gene;
    }
  }
  return bias;
}

void brkga(Evaluator& evaluator, const BrkgaOptions& options, const GeneBias& bias, Rng rng) {
  REVERIE_CHECK(evaluator.budget().evaluations > 0 || evaluator.budget().seconds > 0);
  Population population(evaluator, options, bias, rng);
  while (!evaluator.spent()) population.next_generation();
}

}  // namespace reverie
