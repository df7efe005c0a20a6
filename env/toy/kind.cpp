#include "env/kind.h"

#include "env/toy/knapsack_environment.h"
#include "env/toy/toy_environment.h"

namespace reverie {
namespace {

class ToyKind : public EnvironmentKind {
 public:
  std::string_view name() const override { return ToyConfig::kKind; }
  void declare(ConfigSections& environment, ConfigSections&) const override {
    environment.add<ToyConfig>(ToyConfig::kKind, "A row of blocks with a known optimum, for tests");
  }
  MadeEnvironment make(const EnvironmentConfig& config) const override {
    require_no_inputs(config);
    ToyConfig toy = config.of<ToyConfig>();
    toy.horizon = config.horizon;
    return {std::make_unique<ToyEnvironment>(toy), {}};
  }
};

class KnapsackKind : public EnvironmentKind {
 public:
  std::string_view name() const override { return KnapsackConfig::kKind; }
  void declare(ConfigSections& environment, ConfigSections&) const override {
    environment.add<KnapsackConfig>(KnapsackConfig::kKind, "The knapsack problem, for tests");
  }
  MadeEnvironment make(const EnvironmentConfig& config) const override {
    require_no_inputs(config);
    KnapsackConfig knapsack = config.of<KnapsackConfig>();
    knapsack.horizon = config.horizon;
    return {std::make_unique<KnapsackEnvironment>(knapsack), {}};
  }
};

const bool kRegistered =
    register_kind(std::make_unique<ToyKind>()) && register_kind(std::make_unique<KnapsackKind>());

}  // namespace
}  // namespace reverie
