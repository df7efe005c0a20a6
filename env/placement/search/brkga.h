#pragma once

#include <span>
#include <vector>

#include "core/base/random.h"
#include "env/placement/simulator/evaluator.h"
#include "env/placement/simulator/ordered_placement.h"

namespace reverie {

/// A biased random-key genetic algorithm (Goncalves and Resende, J. Heuristics 17, 2011). Their
/// table of recommended settings: elites 0.10 to 0.25, mutants 0.10 to 0.30, bias 0.5 to 0.8.
///
/// These were fitted once, for genes that are drawn uniformly: of 61 settings, 60 of them drawn,
/// the one with the least memory on 16 synthetic training graphs of 200 operators, with 5,000
/// evaluations. On eight unseen graphs they need 1.0 % less memory and 1.4 % less time than 100,
/// 0.2, 0.15, 0.7 (95 % intervals above 0). With 1,000 evaluations they need 0.6 % more memory and
/// as much time.
struct BrkgaOptions {
  int population = 72;    ///< at least 3
  double elite = 0.34;    ///< share of the population that lives on; at least one does
  double mutants = 0.05;  ///< share that is drawn anew in every generation
  double bias = 0.6;      ///< probability that a gene comes from the parent of the elite

  bool operator==(const BrkgaOptions&) const = default;
};

/// What a learner may say about single genes (Paliwal et al., "Reinforced Genetic Algorithm
/// Learning for Optimizing Computation Graphs", 2020). Each is empty or has a value for each gene.
struct GeneBias {
  /// The first population and the mutants are drawn from Beta(alpha, beta); empty: uniformly. Both
  /// above 0, and both given or neither.
  std::vector<double> alpha, beta;
  /// In place of BrkgaOptions::bias, in [0, 1].
  std::vector<double> elite;
};

/// Chromosomes and what they stand for: genes in [0, 1], first the affinity of each entity to each
/// device, entity by entity, then the priority of each node. Transfers have no genes: the simulator
/// carries them out in the order in which nodes end, and takes no priorities for them.
class GeneLayout {
 public:
  GeneLayout(const CostGraph& graph, int devices);

  int genes() const { return entities_.size() * devices_ + nodes_; }
  /// The number of a gene.
  int affinity(int entity, int device) const { return entity * devices_ + device; }
  int priority(int node) const { return entities_.size() * devices_ + node; }
  const PlacementEntities& entities() const { return entities_; }

  /// Each entity on the device of its highest affinity, of equal ones the first. It is meant for
  /// Dispatch::kReady.
  Placement decode(std::span<const double> genes) const;

 private:
  PlacementEntities entities_;
  int devices_, nodes_;
};

/// Devices take stretches of the graph in turn, from early to late, as stages of a pipeline do. A
/// stretch is as long as the device's share s: of the speed on what all can run for kMakespan, and
/// all equal for kPeakMemory. An entity's position z is the rank of its first node's level (nodes
/// on the longest path before it), uniform with mean 0 and variance 1, and c is the middle of a
/// device's stretch. An affinity has Beta(2 m, 2 (1 - m)), m = sigmoid(1.2 (c z - c^2 / 2) + ln(s
/// devices)), within 0.01 and 0.99. Priorities are uniform. Measured in
/// experiments/placement/README.md.
GeneBias pipeline_bias(const Simulator& simulator, PlacementObjective objective);

/// Until the evaluator, which must have a limit, is spent. Nothing but the bias tells the first
/// population from a uniform one.
void brkga(Evaluator& evaluator, const BrkgaOptions& options, const GeneBias& bias, Rng rng);

}  // namespace reverie
