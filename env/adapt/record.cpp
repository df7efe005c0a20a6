#include "env/adapt/record.h"

#include <memory>
#include <utility>
#include <vector>

namespace reverie {
namespace {

/// Walks through the tree of decisions, training along each branch once.
class Recorder {
 public:
  Recorder(const JobSource& source, uint64_t seed, AdaptTable& table,
           const std::function<void(int64_t)>& after)
      : source_(source), seed_(seed), table_(table), after_(after) {}

  void go(std::unique_ptr<TrainingJob> job, std::vector<JobState> states) {
    states.push_back(job->state());
    if (job->state().over) {
      table_.add(seed_, states);
      if (after_) after_(++done_);
      return;
    }
    const Decisions choices = choices_of(source_, job->state());
    for (size_t i = 0; i < choices.size(); ++i) {
      auto next = i + 1 < choices.size() ? job->copy() : std::move(job);
      next->decide(choices[i]);
      go(std::move(next), states);
    }
  }

 private:
  const JobSource& source_;
  uint64_t seed_;
  AdaptTable& table_;
  const std::function<void(int64_t)>& after_;
  int64_t done_ = 0;
};

}  // namespace

Decisions choices_of(const JobSource& source, const JobState& state) {
  Decisions choices = {std::nullopt};
  for (const ChangeKind kind : {ChangeKind::kDeepen, ChangeKind::kWiden})
    for (int origin = 0; origin < state.network.origins(); ++origin)
      for (const double rate : source.rates()) {
        const ChangeAtRate change{kind, origin, rate};
        if (adapt::allows(state.network, change.in(state.network)) && source.offers(state, change))
          choices.push_back(change);
      }
  return choices;
}

int64_t count_sequences(const JobSource& source, const JobState& state) {
  if (static_cast<int>(state.decisions.size()) >= source.decisions()) return 1;
  int64_t count = 0;
  for (const auto& choice : choices_of(source, state)) {
    JobState next = state;
    next.network = after_decision(state.network, choice);
    next.decisions.push_back(choice);
    count += count_sequences(source, next);
  }
  return count;
}

void record_sequences(const JobSource& source, uint64_t seed, AdaptTable& table,
                      const std::function<void(int64_t)>& after) {
  Recorder(source, seed, table, after).go(source.start(seed), {});
}

}  // namespace reverie
