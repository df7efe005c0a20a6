#include "tools/policy/guided_solver.h"

#include "env/rewrite/rewrite_task.h"
#include "tools/policy/policy_method.h"

namespace reverie {

std::string GuidedSolver::unsuited(const Task& task) const {
  return dynamic_cast<const RewriteTask*>(&task) != nullptr
             ? ""
             : "guides searches in the environment 'rewrite' alone";
}

Result GuidedSolver::run(const Task& task, const SearchOptions& limits,
                         const SolverSettings&) const {
  const auto& model = dynamic_cast<const RewriteTask&>(task);
  PolicySearchConfig config{.env = model.context().environment};
  static_cast<GuideOptions&>(config.guided) = how_;
  config.guided.search = PolicySearchKind::kBeam;
  config.guided.horizons = model.context().plan.horizons;
  RewriteSearchOptions options;
  static_cast<SearchOptions&>(options) = limits;
  return rewrite_result(
      policy_method(policy_, model.rules(), model.cost(), config)(model.fresh_start(), options));
}

}  // namespace reverie
