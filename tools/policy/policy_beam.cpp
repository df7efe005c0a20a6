#include <algorithm>
#include <map>
#include <optional>

#include "tools/policy/policy_search.h"
#include "core/search/known_states.h"
#include "env/rewrite/reward.h"

namespace reverie {
namespace {

/// A state of the beam and how it was reached.
struct Member {
  std::unique_ptr<RewriteEnvironment> environment;
  SeenState from;
  Action action;
  double log_prior = 0;  ///< summed along the way
  Guidance guidance;     ///< once it was looked at
};

struct Candidate {
  double score = 0;
  double log_prior = 0;
  size_t parent = 0;
  Action action;
};

class PolicyBeam {
 public:
  PolicyBeam(SearchRun& run, const PolicyGuide& guide, const GuidedSearchOptions& how)
      : run_(run), guide_(guide), how_(how), left_(run.options().budget), known_(how.states) {}

  void search(const RewriteEnvironment& start) {
    beam_.push_back({std::make_unique<RewriteEnvironment>(start), {}, {}, 0, {}});
    known_.add(start.state());
    for (; !beam_.empty() && !run_.out_of_time(); ++depth_) {
      if (left_ == 0) return run_.out_of_budget();
      if (left_ < std::ssize(beam_)) beam_.erase(beam_.begin() + left_, beam_.end());
      left_ -= std::ssize(beam_);
      choose(candidates());
    }
  }

 private:
  /// Of all members, the best first; ties in the order of members and priors.
  std::vector<Candidate> candidates() {
    std::vector<Candidate> all;
    const auto batch = static_cast<size_t>(how_.batch);
    for (size_t begin = 0; begin < beam_.size() && !run_.out_of_time(); begin += batch) {
      const auto members = std::span(beam_).subspan(begin, std::min(batch, beam_.size() - begin));
      look(members);
      for (size_t i = 0; i < members.size(); ++i) list(members[i], begin + i, all);
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const Candidate& a, const Candidate& b) { return a.score > b.score; });
    return all;
  }

  void look(std::span<Member> members) {
    std::vector<Arrival> arrivals;
    for (const Member& member : members)
      arrivals.push_back({member.environment.get(), depth_, member.from, member.action});
    std::vector<Guidance> guidance = guide_.look(arrivals, run_.pool());
    for (size_t i = 0; i < members.size(); ++i) {
      members[i].guidance = std::move(guidance[i]);
      run_.count_expansion();
    }
  }

  void list(const Member& member, size_t place, std::vector<Candidate>& all) {
    const RewriteEnvironment& environment = *member.environment;
    const double gained = percent_gained(environment.state().cost());
    const ActionMask mask = environment.mask();
    std::map<int, std::vector<double>> gains;  // by primary action
    for (const auto& [action, prior] : member.guidance.actions) {
      const auto [of_rule, fresh] = gains.try_emplace(action.primary);
      if (fresh) of_rule->second = environment.gains(action.primary);
      const double gain = gained + of_rule->second[static_cast<size_t>(mask.number(action))];
      const double log_prior = member.log_prior + prior;
      all.push_back({log_prior + how_.gain_weight * gain, log_prior, place, action});
      run_.count_candidate();
    }
  }

  double percent_gained(const Cost& cost) const {
    const auto initial = static_cast<double>(run_.initial_cost().runtime.count);
    return percent_fall(initial, static_cast<double>(cost.runtime.count), initial);
  }

  /// The first new ones make up the next beam.
  void choose(const std::vector<Candidate>& candidates) {
    std::vector<Member> next;
    for (const Candidate& candidate : candidates) {
      if (std::ssize(next) == run_.options().beam.width || run_.out_of_time()) break;
      if (auto member = build(candidate)) next.push_back(std::move(*member));
    }
    beam_ = std::move(next);
  }

  /// Nothing where it is known, over or not allowed.
  std::optional<Member> build(const Candidate& candidate) {
    const Member& parent = beam_[candidate.parent];
    GuidedStep step = take_step(run_, *parent.environment, candidate.action);
    if (step.environment == nullptr) return std::nullopt;
    if (!known_.add(step.environment->state())) {
      run_.count_duplicate();
      return std::nullopt;
    }
    if (step.over) return std::nullopt;
    return Member{std::move(step.environment), parent.guidance.seen, candidate.action,
                  candidate.log_prior, {}};
  }

  SearchRun& run_;
  const PolicyGuide& guide_;
  const GuidedSearchOptions& how_;
  int64_t left_;
  int depth_ = 0;
  std::vector<Member> beam_;
  KnownStates known_;
};

}  // namespace

void policy_beam(SearchRun& run, const PolicyGuide& guide, const RewriteEnvironment& start,
                 const GuidedSearchOptions& how) {
  if (run.options().greedy_first) begin_greedily(run);
  PolicyBeam(run, guide, how).search(start);
  if (!run.out_of_time()) finish_greedily(run);
}

}  // namespace reverie
