#include "tools/policy/guided_methods.h"

#include "core/base/error.h"
#include "env/registry/rewrite_evaluation.h"
#include "tools/policy/policy_method.h"

namespace reverie {

std::vector<EvaluationMethod> guided_methods(const EvaluationCase& start,
                                             const TrainedPolicy& policy, const GuideOptions& how) {
  const auto* model = dynamic_cast<const RewriteCase*>(&start);
  if (model == nullptr)
    throw InputError(
        "evaluate.guided: a policy guides searches in the environment 'rewrite' alone");
  SearchOptions options;
  options.budget = model->context().how.taso_budget;
  PolicySearchConfig config{.env = model->context().environment};
  static_cast<GuideOptions&>(config.guided) = how;
  config.guided.search = PolicySearchKind::kBeam;
  config.guided.horizons = model->context().plan.horizons;
  return {model->method("policy beam", policy_method(policy, model->rules(), model->cost(), config),
                        options, fmt::format("{} expansions", options.budget))};
}

}  // namespace reverie
