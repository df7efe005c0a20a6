#include "env/environment_problem.h"

#include <cmath>
#include <utility>

#include "core/base/error.h"

namespace reverie {
namespace {

/// Changes below this share of the initial cost are rounding.
constexpr double kNoChange = 1e-9;

struct KeySnapshot : Snapshot {
  explicit KeySnapshot(uint64_t state_key) : key(state_key) {}
  uint64_t key = 0;
};

}  // namespace

EnvironmentProblem::EnvironmentProblem(const Environment& start, Allowed allowed)
    : environment_(start.fork()), allowed_(std::move(allowed)) {
  REVERIE_CHECK(start.spec().deterministic, "searches need a deterministic environment");
  initial_cost_ = cost();
}

EnvironmentProblem::EnvironmentProblem(const EnvironmentProblem& other)
    : Problem(other),
      environment_(other.environment_->fork()),
      allowed_(other.allowed_),
      initial_cost_(other.initial_cost_),
      over_(other.over_) {}

std::unique_ptr<Problem> EnvironmentProblem::copy() const {
  return std::make_unique<EnvironmentProblem>(*this);
}

double EnvironmentProblem::cost() const {
  const EnvSpec& spec = environment_->spec();
  const double objective = environment_->info().objective(spec);
  return spec.less_is_better ? objective : -objective;
}

const ActionMask& EnvironmentProblem::mask() const {
  if (!mask_) mask_ = environment_->mask();
  return *mask_;
}

int EnvironmentProblem::moves(int kind) const { return over_ ? 0 : mask().total(kind); }

Move EnvironmentProblem::move(int kind, int i) const { return move_of(mask().choice(kind, i)); }

const std::vector<double>& EnvironmentProblem::gains(int kind) const {
  gains_.resize(static_cast<size_t>(kinds()));
  auto& gains = gains_[static_cast<size_t>(kind)];
  if (!gains) gains = environment_->gains(kind);
  return *gains;
}

double EnvironmentProblem::change(const Move& move) const {
  if (!environment_->spec().looks_ahead || initial_cost_ == 0) return Problem::change(move);
  const auto number = static_cast<size_t>(mask().number(action_of(move)));
  const double share = -gains(move.kind).at(number) / 100;
  return std::abs(share) < kNoChange ? 0 : share * std::abs(initial_cost_);
}

bool EnvironmentProblem::allows(const Move& move) const {
  if (allowed_ == nullptr) return true;
  EnvironmentProblem next(*this);
  next.take(move);
  return allowed_(*next.environment_);
}

void EnvironmentProblem::take(const Move& move) {
  const StepResult result = environment_->step(action_of(move));
  over_ = result.terminated || result.truncated;
  mask_.reset();
  gains_.clear();
  observation_.reset();
}

bool EnvironmentProblem::apply(const Move& move) {
  if (!allows(move)) return false;
  take(move);
  return true;
}

const Observation& EnvironmentProblem::observation() const {
  if (!observation_) observation_ = environment_->observe();
  return *observation_;
}

std::shared_ptr<const Snapshot> EnvironmentProblem::snapshot() const {
  return std::make_shared<const KeySnapshot>(hash());
}

bool EnvironmentProblem::is(const Snapshot& snapshot) const {
  return static_cast<const KeySnapshot&>(snapshot).key == hash();
}

const EnvironmentProblem& environment_problem(const Problem& problem) {
  const auto* known = dynamic_cast<const EnvironmentProblem*>(&problem);
  REVERIE_CHECK(known != nullptr, "a state of another problem");
  return *known;
}

}  // namespace reverie
