#include "core/rulekit/generate/enumerate.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/parallel.h"

namespace reverie::generate {
namespace {

constexpr size_t kMostElements = 256;

}  // namespace

Enumerator::Enumerator(ValueTable& values, int threads, const StopToken& stop,
                       std::function<void(int64_t, int64_t)> progress)
    : values_(values), threads_(threads), stop_(stop), progress_(std::move(progress)) {}

size_t Enumerator::prepare(int level) {
  level_ = level;
  jobs_.clear();
  steps_ = done_ = 0;
  collect_buckets(level);
  for (size_t op = 0; op < values_.operators().size(); ++op) {
    const Operator& what = values_.operators()[op];
    const auto index = static_cast<uint8_t>(op);
    if (arity(what.kind) == 1) add_unary(index, level);
    if (arity(what.kind) == 2) add_binary(index, level);
    if (arity(what.kind) == 0 && level == 1) {
      Job job;
      job.op = index;
      job.to = values_.intern(*infer(what, {}, {}, values_.world()));
      add_job(job, 1, 1);
    }
  }
  return jobs_.size();
}

void Enumerator::collect_buckets(int level) {
  buckets_.assign(static_cast<size_t>(level), {});
  inside_.clear();
  for (ValueId id = 0; id < values_.size(); ++id) {
    const Value& value = values_[id];
    buckets_[value.operators][value.extents].push_back(id);
    if (value.operators == level - 1 && level >= 2) add_inside(id);
  }
}

/// Pairs of a value with those that its graph computes on the way, and with the other output of a
/// Split.
void Enumerator::add_inside(ValueId a) {
  std::vector<ValueId> parts;
  const std::function<void(ValueId)> walk = [&](ValueId id) {
    const ValueId sibling = values_.sibling(id);
    for (const ValueId part : {id, sibling})
      if (part != kNoValue && part != a && values_[part].operators > 0 &&
          std::find(parts.begin(), parts.end(), part) == parts.end())
        parts.push_back(part);
    const Application& made = values_[id].application;
    if (made.op == kInputOp) return;
    for (const ValueId operand : {made.a, made.b})
      if (operand != kNoValue) walk(operand);
  };
  walk(a);
  for (const ValueId b : parts) {
    const bool twice = values_[b].operators == values_[a].operators;  // b comes round as `a`
    inside_[{values_[a].extents, values_[b].extents}].emplace_back(a, b);
    if (!twice) inside_[{values_[b].extents, values_[a].extents}].emplace_back(b, a);
  }
}

void Enumerator::add_job(Job job, size_t count, size_t each) {
  constexpr size_t kEvaluations = 20000;
  const size_t chunk = std::max<size_t>(1, kEvaluations / std::max<size_t>(1, each));
  const Extents& to = values_.extents_at(job.to);
  std::vector<Job>& group = jobs_[{to.rank, to.dim}];
  for (size_t begin = 0; begin < count; begin += chunk, ++steps_) {
    job.begin = begin;
    job.end = std::min(count, begin + chunk);
    group.push_back(job);
  }
}

void Enumerator::add_unary(uint8_t op, int level) {
  for (const auto& [extents, ids] : buckets_[static_cast<size_t>(level - 1)]) {
    const auto to =
        infer(values_.operators()[op], values_.extents_at(extents), {}, values_.world());
    if (!to) continue;
    Job job;
    job.op = op;
    job.to = values_.intern(*to);
    job.a = &ids;
    add_job(job, ids.size(), 1);
  }
}

void Enumerator::add_binary(uint8_t op, int level) {
  add_pairs(op, level - 1, 0);
  if (level > 1) add_pairs(op, 0, level - 1);
  for (int i = 1; i <= level - 2; ++i)
    for (int j = std::max(1, level - 1 - i); j <= level - 2; ++j) add_pairs(op, i, j);
  const Operator& what = values_.operators()[op];
  for (const auto& [extents, pairs] : inside_) {
    const auto to = infer(what, values_.extents_at(extents.first),
                          values_.extents_at(extents.second), values_.world());
    if (!to) continue;
    Job job;
    job.op = op;
    job.to = values_.intern(*to);
    job.ordered = is_commutative(what.kind);
    job.pairs = &pairs;
    add_job(job, pairs.size(), 1);
  }
}

void Enumerator::add_pairs(uint8_t op, int i, int j) {
  const Operator& what = values_.operators()[op];
  if (is_commutative(what.kind) && i > j) return;  // values of fewer operators have lower numbers
  for (const auto& [ea, a] : buckets_[static_cast<size_t>(i)])
    for (const auto& [eb, b] : buckets_[static_cast<size_t>(j)]) {
      const auto to = infer(what, values_.extents_at(ea), values_.extents_at(eb), values_.world());
      if (!to) continue;
      Job job;
      job.op = op;
      job.to = values_.intern(*to);
      job.ordered = is_commutative(what.kind);
      job.a = &a;
      job.b = &b;
      add_job(job, a.size(), b.size());
    }
}

std::vector<Enumerator::Found> Enumerator::produce(const Job& job, bool all) const {
  std::vector<Found> found;
  uint64_t out[kMostElements];
  const Operator& op = values_.operators()[job.op];
  const Extents& to = values_.extents_at(job.to);
  const auto apply = [&](ValueId a, ValueId b) {
    const Application application{job.op, a, b};
    if (!all && !values_.is_canonical(values_.support_of(application))) return;
    if (values_.operators_of(application) != level_) return;
    static const Extents kAbsent;
    evaluate(op, a == kNoValue ? kAbsent : values_.extents(a),
             a == kNoValue ? nullptr : values_.content(a),
             b == kNoValue ? kAbsent : values_.extents(b),
             b == kNoValue ? nullptr : values_.content(b), to, out);
    found.push_back({ValueTable::fingerprint(to, out), application, job.to});
  };
  for (size_t i = job.begin; i < job.end; ++i) {
    if (job.pairs != nullptr) {
      const auto [a, b] = (*job.pairs)[i];
      if (!job.ordered || a < b) apply(a, b);
    } else if (job.a == nullptr) {
      apply(kNoValue, kNoValue);
    } else if (job.b == nullptr) {
      apply((*job.a)[i], kNoValue);
    } else {
      const ValueId a = (*job.a)[i];
      for (const ValueId b : *job.b)
        if (job.ordered ? a < b : a != b) apply(a, b);
    }
  }
  return found;
}

void Enumerator::skip(size_t parts) {
  for (auto at = jobs_.begin(); parts > 0; --parts, ++at)
    done_ += static_cast<int64_t>(at->second.size());
}

bool Enumerator::run(size_t part, bool store_values, std::vector<Candidate>& candidates,
                     LevelCounts& counts) {
  const std::vector<Job>& jobs = std::next(jobs_.begin(), static_cast<int64_t>(part))->second;
  std::vector<Found> fresh;
  FlatMap seen;
  const size_t from = candidates.size();
  const LevelCounts before = counts;
  bool stopped = false;
  const auto consume = [&](size_t, std::vector<Found> results) {
    for (const Found& found : results) {
      ++counts.graphs;
      const ValueId known = values_.find(found.fingerprint);
      if (known != kNoValue) {
        candidates.push_back({found.application, known, {}});
        continue;
      }
      const auto next = static_cast<uint32_t>(fresh.size());
      const uint32_t at = seen.insert(found.fingerprint, next);
      if (at == next)
        fresh.push_back(found);
      else
        candidates.push_back({found.application, kNoValue, fresh[at].application});
    }
    progress_(++done_, steps_);
    stopped = stopped || stop_.requested();
  };
  const auto make = [&](size_t index, int) {
    return stop_.requested() ? std::vector<Found>{} : produce(jobs[index], store_values);
  };
  ordered_parallel<std::vector<Found>>(0, jobs.size(), threads_, 4 * static_cast<size_t>(threads_),
                                       make, consume);
  if (stopped) {
    candidates.resize(from);
    counts = before;
    return false;
  }
  counts.values += fresh.size();
  counts.pairs += candidates.size() - from;
  if (store_values) store(fresh, candidates, from);
  return true;
}

void Enumerator::store(const std::vector<Found>& fresh, std::vector<Candidate>& candidates,
                       size_t from) {
  uint64_t out[kMostElements];
  for (const Found& found : fresh) {
    const auto [op, a, b] = found.application;
    const Extents to = values_.extents_at(found.to);
    static const Extents kAbsent;
    evaluate(values_.operators()[op], a == kNoValue ? kAbsent : values_.extents(a),
             a == kNoValue ? nullptr : values_.content(a),
             b == kNoValue ? kAbsent : values_.extents(b),
             b == kNoValue ? nullptr : values_.content(b), to, out);
    values_.add(found.application, found.to, found.fingerprint,
                {out, static_cast<size_t>(to.size())});
  }
  for (size_t i = from; i < candidates.size(); ++i) {
    Candidate& candidate = candidates[i];
    if (candidate.value == kNoValue) candidate.value = values_.find(candidate.first);
    values_.note(candidate.value, candidate.application);
  }
}

}  // namespace reverie::generate
