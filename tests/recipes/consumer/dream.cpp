// An environment of one's own, and a policy for it that learned in a dream alone, beside every
// search.
#include <fmt/format.h>
#include <reverie/learning.h>

using namespace reverie;

/// Nodes in a row, each red or blue; an action recolours one. The objective is the number of
/// neighbours of equal colour, 0 at best. In "red blue blue red" no step gains at first: a pair has
/// to move to an end.
class Colouring : public Environment {
 public:
  Colouring() {
    spec_.name = "colouring";
    spec_.node_types = {"node"};
    spec_.node_features = {"red"};
    spec_.edge_features = {"equal"};
    spec_.actions = {"recolour", "NO-OP"};
    spec_.targets = {{"conflicts", TargetLevel::kGraph, TargetLoss::kRegression}};
    spec_.metrics = {{"conflicts", ""}};
    spec_.horizon = 10;
    spec_.source = "none";
    for (const uint64_t row : kRows) spec_.starts.push_back({fmt::format("row-{:06b}", row), row});
  }

  const EnvSpec& spec() const override { return spec_; }
  const EnvCounters& counters() const override { return counters_; }
  std::unique_ptr<Environment> fork() const override {
    auto copy = std::make_unique<Colouring>(*this);
    copy->counters_ = {};
    return copy;
  }

  void reset(uint64_t seed) override {
    colours_ = kRows[seed % std::size(kRows)];
    best_ = conflicts();
    steps_ = 0;
    over_ = false;
    ++counters_.resets;
  }

  StepResult step(const Action& action) override {
    if (over_) throw InputError("the episode is over");
    require_allowed(spec_, mask(), action);
    const double before = conflicts();
    const bool ends = action.primary == spec_.no_op();
    if (!ends) colours_ ^= uint64_t{1} << action.entity;
    best_ = std::min(best_, conflicts());
    ++counters_.steps;
    const bool is_last = ++steps_ >= spec_.horizon && !ends;
    over_ = ends || is_last;
    return {before - conflicts(), ends, is_last, info()};
  }

  ActionMask mask() const override {
    ActionMask mask(spec_.primary_actions(), kNodes);
    for (int node = 0; node < kNodes; ++node) mask.at(0, node) = 1;
    mask.at(spec_.no_op(), 0) = 1;
    return mask;
  }

  StepInfo info() const override { return {{conflicts()}, true, best_}; }

  Observation observe() const override {
    Observation seen;
    for (int node = 0; node < kNodes; ++node) {
      seen.graph.node_types.push_back(0);
      seen.graph.node_entities.push_back(node);
      seen.graph.nodes.push_back(static_cast<float>(colour(node)));
      for (const int other : {node - 1, node + 1}) {
        if (other < 0 || other == kNodes) continue;
        seen.graph.senders.push_back(other);
        seen.graph.receivers.push_back(node);
        seen.graph.edges.push_back(colour(node) == colour(other) ? 1 : 0);
      }
    }
    seen.graph.graph_targets = {static_cast<float>(conflicts())};
    seen.mask = mask();
    seen.state_key = colours_;
    return seen;
  }

 private:
  static constexpr int kNodes = 6;
  static constexpr uint64_t kRows[] = {0b111111, 0b110110, 0b011001, 0b100110};

  int colour(int node) const { return static_cast<int>(colours_ >> node & 1); }
  double conflicts() const {
    int count = 0;
    for (int node = 1; node < kNodes; ++node) count += colour(node - 1) == colour(node);
    return count;
  }

  EnvSpec spec_;
  EnvCounters counters_;
  uint64_t colours_ = 0;
  double best_ = 0;
  int steps_ = 0;
  bool over_ = true;
};

class ColouringKind : public EnvironmentKind {
 public:
  std::string_view name() const override { return "colouring"; }
  void declare(ConfigSections&, ConfigSections&) const override {}
  MadeEnvironment make(const EnvironmentConfig&) const override {
    return {std::make_unique<Colouring>(), {}};
  }
};
const bool kRegistered = register_kind(std::make_unique<ColouringKind>());

int main() {
  torch::set_num_threads(1);
  const ScratchFolder folder;
  const std::string runs = folder.path().string();
  CollectConfig random{.agent = "random", .episodes = 150};
  collect(Colouring(), *make_random_agent(random), random, {.directory = runs, .seed = 1});
  const RolloutEpisodes data(Rollouts::open(runs));

  train_vae(data, {.encoder = {.latent = 12, .width = 24}}, 5, runs, false, torch::kCPU, {});
  const std::shared_ptr v = load_encoder(load_checkpoint(runs + "/encoder.pt", "encoder"));
  const LatentEpisodes episodes(data, encode_states(data, *v));
  train_mdnrnn(episodes, *v, {.model = {.hidden = 48}}, 5, runs, false, torch::kCPU, {});
  const std::shared_ptr m = load_world_model(load_checkpoint(runs + "/world.pt", "world"));

  DreamEnvironment dream(m, dream_starts(episodes, *m), {}, /*batch=*/64);
  const std::shared_ptr<Trainer> trainer = make_trainer(m->spec(), {}, 3);
  constexpr int kUpdates = 30;
  for (int update = 0; update < kUpdates; ++update)
    trainer->update(dream, static_cast<double>(update) / kUpdates, static_cast<uint64_t>(update));

  const PolicySolver policy({v, m, {trainer, &trainer->policy()}}, /*greedy=*/true);
  std::vector<const Solver*> solvers = solvers_for("colouring");
  solvers.push_back(&policy);
  const auto starts = environment_kind("colouring").tasks({}, {}, {});
  double conflicts = 0;  // that are left in all rows, by the solver that comes last
  for (const Solver* solver : solvers) {
    conflicts = 0;
    for (const auto& task : starts->tasks())
      conflicts += solver->run(*task, {.budget = 10, .seed = 1}, SolverSettings("colouring")).best;
    fmt::print("{:16} {:2} conflicts\n", solver->name(), conflicts);
  }
  return conflicts <= 1 ? 0 : 1;
}
