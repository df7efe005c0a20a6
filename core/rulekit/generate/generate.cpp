#include "core/rulekit/generate/generate.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/rulekit/generate/basis.h"
#include "core/rulekit/generate/checkpoint.h"
#include "core/rulekit/generate/enumerate.h"
#include "core/rulekit/generate/identity.h"
#include "core/rulekit/taso/translate.h"

namespace reverie {
namespace {

using namespace generate;

World world_of(uint64_t seed) {
  World world;
  world.seed = seed;
  return world;
}

class Generator {
 public:
  Generator(const GenerateOptions& options, const StopToken& stop,
            const std::function<void(const std::string&, int64_t, int64_t)>& progress)
      : options_(options),
        stop_(stop),
        progress_(progress),
        values_(parse_operators(options.operators), world_of(options.seed)),
        maker_(values_, options.depth, options.seed),
        basis_(values_) {}

  GenerateResult run() {
    result_.counts.values = values_.size();
    for (int level = 1; level <= options_.depth && result_.complete; ++level) run_level(level);
    if (result_.complete) add_two_outputs();
    result_.counts.identities = basis_.identities().size();
    for (const Identity& identity : basis_.identities())
      result_.counts.narrow += !identity.is_sayable;
    return std::move(result_);
  }

 private:
  void run_level(int level) {
    const bool last = level == options_.depth;
    Enumerator enumerator(values_, options_.threads, stop_, [&](int64_t done, int64_t total) {
      if (progress_) progress_("graphs of " + std::to_string(level), done, total);
    });
    const size_t parts = enumerator.prepare(level);
    Checkpoint state = last ? resumed(enumerator) : Checkpoint();
    for (; state.parts < parts; ++state.parts) {
      if (!enumerator.run(state.parts, !last, state.candidates, state.counts)) {
        result_.complete = false;
        break;
      }
      if (last) save(state, false);
    }
    if (last && state.considered == 0) save(state, true);
    if (!result_.complete) {
      if (!last) begin_checkpoint();
      return;
    }
    result_.counts.graphs += state.counts.graphs;
    result_.counts.values += state.counts.values;
    result_.counts.pairs += state.counts.pairs;
    prune(level, state);
    if (last) return;
    if (result_.complete)
      note_equal(in_order(level, std::move(state.candidates)));
    else
      begin_checkpoint();
  }

  /// What a stop before the last level leaves.
  void begin_checkpoint() {
    Checkpoint nothing;
    if (!file_exists(options_.checkpoint)) save(nothing, true);
  }

  /// Applications that are proved equal to the first one of their value. Those with inputs renamed
  /// were not considered by themselves.
  void note_equal(const std::vector<Candidate>& candidates) {
    for (const Candidate& candidate : candidates) {
      const uint32_t support = values_.support_of(candidate.application);
      if (is_renamed(candidate) && !basis_.follows(candidate))
        basis_.distrust(candidate.application);
      if ((support & ~values_[candidate.value].support) == 0 &&
          !basis_.unproved().contains(candidate.application))
        values_.add_equal(candidate.value, candidate.application);
    }
  }

  std::string asked() const {
    return fmt::format("--depth {} --operators {} --seed {}", options_.depth, options_.operators,
                       options_.seed);
  }

  Checkpoint resumed(Enumerator& enumerator) {
    if (options_.checkpoint.empty()) return {};
    Checkpoint state = read_checkpoint(options_.checkpoint, asked()).value_or(Checkpoint());
    enumerator.skip(state.parts);
    return state;
  }

  /// Unless it is the end, only now and then.
  void save(Checkpoint& state, bool end) {
    constexpr std::chrono::seconds kBetween(20);
    const auto now = std::chrono::steady_clock::now();
    if (options_.checkpoint.empty() || (!end && now - saved_ < kBetween)) return;
    state.pruned = {result_.counts.follows, result_.counts.unequal, result_.counts.repeated};
    state.identities = basis_.identities();
    state.unproved.assign(basis_.unproved().begin(), basis_.unproved().end());
    write_checkpoint(options_.checkpoint, asked(), state);
    saved_ = now;
  }

  bool is_renamed(const Candidate& candidate) const {
    uint32_t support = values_.support_of(candidate.application);
    if (candidate.value != kNoValue) support |= values_[candidate.value].support;
    return !values_.is_canonical(support);
  }

  void prune(int level, Checkpoint& state) {
    std::vector<Candidate> candidates = in_order(level, state.candidates);
    std::erase_if(candidates, [&](const Candidate& candidate) { return is_renamed(candidate); });
    result_.counts.renamed += state.candidates.size() - candidates.size();
    if (state.considered > 0) restore(state);
    for (uint64_t done = state.considered; done < candidates.size(); ++done) {
      constexpr uint64_t kBetween = 1000;
      const bool stopped = stop_.requested();
      if (level == options_.depth && (stopped || done % kBetween == 0)) {
        state.considered = done;
        save(state, stopped);
      }
      if (stopped) {
        result_.complete = false;
        return;
      }
      consider(candidates[done]);
      if (progress_)
        progress_("pairs of " + std::to_string(level), static_cast<int64_t>(done) + 1,
                  static_cast<int64_t>(candidates.size()));
    }
  }

  /// What is general before its instances.
  std::vector<Candidate> in_order(int level, std::vector<Candidate> candidates) const {
    const auto least = [&](const Candidate& candidate) {
      return candidate.value == kNoValue ? level : int{values_[candidate.value].operators};
    };
    std::sort(candidates.begin(), candidates.end(), [&](const Candidate& x, const Candidate& y) {
      return least(x) != least(y) ? least(x) < least(y)
                                  : comes_before(values_, x.application, y.application);
    });
    return candidates;
  }

  void restore(const Checkpoint& state) {
    basis_.clear();
    known_.clear();
    result_.rules.clear();
    for (const Identity& identity : state.identities) {
      known_.emplace(either_way(identity), identity.is_accepted);
      basis_.keep(identity);
      if (identity.is_sayable) add_rules(identity);
    }
    for (const Application& application : state.unproved) basis_.distrust(application);
    result_.counts.follows = state.pruned.follows;
    result_.counts.unequal = state.pruned.unequal;
    result_.counts.repeated = state.pruned.repeated;
  }

  std::string either_way(const Identity& identity) const {
    return std::min(taso::canonical_form(to_taso(identity, values_.operators())),
                    taso::canonical_form(to_taso(identity.reversed(), values_.operators())));
  }

  void consider(const Candidate& candidate) {
    if (basis_.follows(candidate)) {
      ++result_.counts.follows;
      return;
    }
    const Application& first =
        candidate.value == kNoValue ? candidate.first : values_[candidate.value].application;
    if (!keep(maker_.make({first}, {candidate.application})))
      basis_.distrust(candidate.application);
  }

  /// Whether it is one that is accepted, or an instance of one.
  bool keep(const Identity& identity) {
    if (!maker_.holds(identity)) {
      ++result_.counts.unequal;
      return false;
    }
    Identity general = maker_.generalised(identity);
    const auto [known, is_new] = known_.emplace(either_way(general), false);
    if (!is_new) {
      ++result_.counts.repeated;
      return known->second;
    }
    general.is_sayable = maker_.holds_for_all_kernels(general);
    const size_t first = result_.rules.size();
    if (general.is_sayable) add_rules(general);
    general.is_accepted = any_accepted(first);
    basis_.keep(general);
    return known->second = general.is_accepted;
  }

  /// Of the rules from that number on.
  bool any_accepted(size_t first) const {
    bool any = false;
    for (size_t i = first; i < result_.rules.size() && !any; ++i)
      any = !options_.accepts || options_.accepts(i, result_.rules[i]);
    return any;
  }

  struct Parts {
    uint8_t split;
    ValueId whole, first, second;
    int splits;  ///< in the graphs of `first` and `second`
  };

  /// Parts of values that graphs without that Split compute. Those without any Split come first:
  /// that a Split can be put in front of what they read is of no use to who matches them.
  void add_two_outputs() {
    std::vector<Parts> all;
    for (ValueId whole = 0; whole < values_.size(); ++whole) {
      if (!values_.is_canonical(values_[whole].support) || values_[whole].operators == 0) continue;
      for (size_t op = 0; op < values_.operators().size(); ++op)
        if (values_.operators()[op].kind == Kind::kSplitFirst)
          if (const auto parts = parts_of(whole, static_cast<uint8_t>(op))) all.push_back(*parts);
    }
    std::stable_sort(all.begin(), all.end(), [&](const Parts& x, const Parts& y) {
      const auto rank = [&](const Parts& parts) {
        return std::tuple(parts.splits, values_[parts.whole].operators,
                          -std::popcount(values_[parts.whole].support));
      };
      return rank(x) < rank(y);
    });
    result_.counts.pairs += all.size();
    for (const Parts& parts : all)
      if (basis_.follows(parts.split, parts.whole, parts.first, parts.second))
        ++result_.counts.follows;
      else
        keep(maker_.make(
            {values_[parts.first].application, values_[parts.second].application},
            {split_of(parts.split, parts.whole), split_of(parts.split + 1, parts.whole)}));
  }

  static Application split_of(int op, ValueId whole) {
    return {static_cast<uint8_t>(op), whole, kNoValue};
  }

  std::optional<Parts> parts_of(ValueId whole, uint8_t split) const {
    const Application first = split_of(split, whole), second = split_of(split + 1, whole);
    const ValueId a = part_value(first), b = part_value(second);
    if (a == kNoValue || b == kNoValue) return {};
    if (values_[a].application == first || values_[b].application == second) return {};
    if (values_[a].operators == 0 || values_[b].operators == 0) return {};
    if (is_split_of(a) && is_split_of(b)) return {};  // nothing but movement on both sides
    if (values_.operators_of({0, a, b}) - 1 > options_.depth) return {};
    return Parts{split, whole, a, b, splits_in(a) + splits_in(b)};
  }

  bool is_split_of(ValueId id) const {
    return is_split(values_.operators()[values_[id].application.op].kind);
  }

  int splits_in(ValueId id) const {
    const auto [op, a, b] = values_[id].application;
    if (op == kInputOp) return 0;
    int count = is_split(values_.operators()[op].kind) ? 1 : 0;
    for (const ValueId operand : {a, b})
      if (operand != kNoValue) count += splits_in(operand);
    return count;
  }

  ValueId part_value(const Application& application) const {
    const Operator& op = values_.operators()[application.op];
    const Extents& from = values_.extents(application.a);
    const auto to = infer(op, from, {}, values_.world());
    if (!to) return kNoValue;
    std::vector<uint64_t> out(static_cast<size_t>(to->size()));
    evaluate(op, from, values_.content(application.a), {}, nullptr, *to, out.data());
    return values_.find(ValueTable::fingerprint(*to, out.data()));
  }

  void add_rules(const Identity& identity) {
    std::set<std::string> forms;
    for (const Identity& way : {identity, identity.reversed()}) {
      if (!way.is_rule() || (way.left.size() > 1 && !forms.empty())) continue;
      TasoRule rule = to_taso(way, values_.operators());
      if (!forms.insert(taso::canonical_form(rule)).second) continue;
      if (options_.found) options_.found(result_.rules.size(), rule);
      result_.rules.push_back(std::move(rule));
    }
  }

  const GenerateOptions& options_;
  const StopToken& stop_;
  const std::function<void(const std::string&, int64_t, int64_t)>& progress_;
  ValueTable values_;
  IdentityMaker maker_;
  Basis basis_;
  std::map<std::string, bool> known_;  ///< identities, and whether they are accepted
  GenerateResult result_;
  std::chrono::steady_clock::time_point saved_ = std::chrono::steady_clock::now();
};

}  // namespace

GenerateResult generate_rules(
    const GenerateOptions& options, const StopToken& stop,
    const std::function<void(const std::string&, int64_t, int64_t)>& progress) {
  if (options.depth < 1 || options.depth > kMostDepth)
    throw InputError("depth {}: graphs have 1 to {} operators", options.depth, kMostDepth);
  if (options.threads < 1) throw InputError("{} threads: at least one is needed", options.threads);
  return Generator(options, stop, progress).run();
}

std::string description(const GenerateOptions& options, const GenerateCounts& counts) {
  return fmt::format(
      "# reverie rules generate --depth {} --operators {} --seed {}\n"
      "# {} graphs, {} distinct values, {} pairs of equal ones.\n"
      "# Left out: {} with inputs renamed, {} that follow from accepted ones, {} that differ on "
      "other\n"
      "# inputs, {} that repeat an identity. Kept: {} identities, each in the directions in which "
      "it\n"
      "# is a rule, but for {} that hold only for some extents of kernels.\n",
      options.depth, options.operators, options.seed, counts.graphs, counts.values, counts.pairs,
      counts.renamed, counts.follows, counts.unequal, counts.repeated, counts.identities,
      counts.narrow);
}

}  // namespace reverie
