#include "tools/rule_tester.h"

#include "core/rulekit/prove/prove.h"
#include "core/rulekit/verify/write_proofs.h"

namespace reverie {
namespace {

void add_proof(const TasoOutcome& outcome, TestedRule& tested) {
  const RuleSet rules = RuleSet::parse(outcome.text, outcome.name);
  const ProofReport report = prove_rule(rules[0], {.with_axioms = false});
  tested.refusal = !report.refutation().empty() ? report.refutation()
                   : !report.field.proved()     ? "not proved: " + report.field.not_covered
                                                : "";
  if (tested.refusal.empty())
    tested.text = with_proofs(outcome.text, outcome.name, {{outcome.name, report.proof}});
}

}  // namespace

RuleTester::RuleTester(uint64_t seed, int threads)
    : options_{.prefix = "generated", .seed = seed, .derived_groups = true} {
  for (int i = 1; i < threads; ++i) threads_.emplace_back([this] { serve(); });
}

RuleTester::~RuleTester() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  threads_.clear();
}

void RuleTester::announce(size_t number, const TasoRule& rule) {
  {
    const std::lock_guard lock(mutex_);
    const auto [at, is_new] = work_.try_emplace(number);
    if (!is_new) return;
    Work& work = at->second;
    work.task =
        std::packaged_task<TestedRule()>([this, number, rule] { return tested(number, rule); });
    work.result = work.task.get_future().share();
    waiting_.push_back(&work);
  }
  changed_.notify_one();
}

const TestedRule& RuleTester::test(size_t number) {
  std::unique_lock lock(mutex_);
  Work& work = work_.at(number);
  if (std::exchange(work.begun, true)) {
    run_waiting(lock);
  } else {
    lock.unlock();
    work.task();
  }
  return work.result.get();
}

TestedRule RuleTester::tested(size_t number, const TasoRule& rule) const {
  TasoImportOptions options = options_;
  options.first = number;
  const TasoOutcome outcome = import_taso_rules({rule}, options).at(0);
  TestedRule result;
  result.narrowed = !outcome.narrowing.empty();
  result.refusal = outcome.refusal;
  if (!outcome.counterexample.empty()) result.refusal += ": " + outcome.counterexample;
  if (outcome.accepted()) add_proof(outcome, result);
  return result;
}

void RuleTester::serve() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    if (waiting_.empty())
      changed_.wait(lock);
    else
      run_waiting(lock);
  }
}

void RuleTester::run_waiting(std::unique_lock<std::mutex>& lock) {
  while (!waiting_.empty()) {
    Work& work = *waiting_.back();
    waiting_.pop_back();
    if (std::exchange(work.begun, true)) continue;
    lock.unlock();
    work.task();
    lock.lock();
    return;
  }
}

}  // namespace reverie
