#include "env/adapt/table.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "env/adapt/table_json.h"

namespace reverie {
namespace {

/// Decisions as numbers that can be ordered.
using Key = std::vector<double>;

void append(Key& key, const std::optional<ChangeAtRate>& decision) {
  if (!decision)
    key.insert(key.end(), {-1, -1, 0});
  else
    key.insert(key.end(), {static_cast<double>(decision->kind),
                           static_cast<double>(decision->origin), decision->rate});
}

Key key_of(std::span<const std::optional<ChangeAtRate>> decisions) {
  Key key;
  for (const auto& decision : decisions) append(key, decision);
  return key;
}

JobStop stop_of(const JobState& state, size_t epochs_before) {
  return {static_cast<int>(state.curve.size() - epochs_before), state.spent, state.throughput,
          state.epoch_share};
}

void check_curve(const std::vector<EpochRecord>& curve) {
  for (const EpochRecord& epoch : curve) {
    if (!(epoch.accuracy >= 0 && epoch.accuracy <= 1))
      throw InputError("an epoch's accuracy is {}; it must be from 0 to 1", epoch.accuracy);
    if (!(epoch.spent >= 0 && epoch.spent <= 1))
      throw InputError("an epoch ends at {} of the budget; it must be from 0 to 1", epoch.spent);
    if (!std::isfinite(epoch.train_accuracy) || !std::isfinite(epoch.loss))
      throw InputError("an epoch has a number that is not finite");
  }
}

void check_stop(const JobStop& stop) {
  if (!(stop.spent >= 0 && stop.spent <= 1) || !(stop.throughput > 0) || !(stop.epoch_share >= 0) ||
      !std::isfinite(stop.throughput + stop.epoch_share))
    throw InputError(
        "a stop needs a spent share from 0 to 1, a throughput above 0 and a share of an epoch of 0 "
        "or "
        "more");
}

void check_run(const RecordedRun& run, size_t decisions) {
  if (run.stops.size() != decisions)
    throw InputError("it has {} stops; a run has one after each of its {} decisions",
                     run.stops.size(), decisions);
  check_curve(run.curve);
  int before = 0;
  for (const JobStop& stop : run.stops) {
    check_stop(stop);
    if (stop.epochs < before) throw InputError("a stop comes before the one that precedes it");
    before = stop.epochs;
  }
  if (before != static_cast<int>(run.curve.size()))
    throw InputError("its last stop is after {} epochs, its curve has {}", before,
                     run.curve.size());
}

void check_decisions(const AdaptTable& table, const Decisions& decisions) {
  if (decisions.empty() || std::ssize(decisions) > table.decisions)
    throw InputError("it has {} decisions; a sequence of this table has 1 to {}", decisions.size(),
                     table.decisions);
  Network network = table.network;
  for (const auto& decision : decisions) {
    if (decision && std::ranges::count(table.rates, decision->rate) == 0)
      throw InputError("its rate {} is not among the table's rates", decision->rate);
    network = after_decision(network, decision);
  }
}

void check_sequence(const AdaptTable& table, RecordedSequence& sequence) {
  check_decisions(table, sequence.decisions);
  if (sequence.runs.empty()) throw InputError("it has no runs; give at least one");
  std::ranges::sort(sequence.runs, {}, &RecordedRun::seed);
  for (size_t i = 0; i < sequence.runs.size(); ++i) {
    const RecordedRun& run = sequence.runs[i];
    with_context(fmt::format("seed {}", run.seed), [&] {
      if (i > 0 && sequence.runs[i - 1].seed == run.seed) throw InputError("it was recorded twice");
      check_run(run, sequence.decisions.size());
    });
  }
}

void check_header(const AdaptTable& table) {
  if (table.scenario.empty()) throw InputError("'scenario' is empty; give it a name");
  if (table.decisions < 1) throw InputError("'decisions' is {}; give at least 1", table.decisions);
  if (table.final_epochs < 1)
    throw InputError("'final_epochs' is {}; give at least 1", table.final_epochs);
  if (table.rates.empty() ||
      std::ranges::adjacent_find(table.rates, std::greater_equal()) != table.rates.end() ||
      !(table.rates.front() > 0))
    throw InputError("'rates' must be one or more numbers above 0, ascending");
  table.network.shapes();
  check_curve(table.curve);
  check_stop(table.start);
}

/// A table that was checked, with its sequences by their decisions.
class IndexedTable {
 public:
  explicit IndexedTable(AdaptTable table) : table_(std::move(table)) {
    check_header(table_);
    for (size_t i = 0; i < table_.sequences.size(); ++i)
      with_context(fmt::format("sequence {}", i + 1), [&] { index(i); });
    if (table_.sequences.empty())
      throw InputError("'sequences' is empty; give at least that without changes");
    for (size_t i = 0; i < table_.sequences.size(); ++i)
      with_context(fmt::format("sequence {}", i + 1),
                   [&] { check_ways_on(table_.sequences[i].decisions); });
  }

  const AdaptTable& table() const { return table_; }
  bool foresees() const {
    return !table_.timed() && std::ranges::all_of(table_.sequences, stops_alike);
  }
  /// The first that begins with them; null where none does.
  const RecordedSequence* find(const Decisions& decisions) const {
    const auto found = begun_.find(key_of(decisions));
    return found == begun_.end() ? nullptr : &table_.sequences[found->second.first];
  }
  /// Whether a recorded job is over after them.
  bool ends(const Decisions& decisions) const { return begun_.at(key_of(decisions)).ends; }
  bool has(const Decisions& decisions, const std::optional<ChangeAtRate>& next) const {
    Key key = key_of(decisions);
    append(key, next);
    return begun_.contains(key);
  }

 private:
  struct Begun {
    size_t first = 0;   ///< the first sequence that begins so
    bool ends = false;  ///< and whether one ends so
  };

  static bool stops_alike(const RecordedSequence& sequence) {
    return std::ranges::all_of(sequence.runs, [&](const RecordedRun& run) {
      return run.stops == sequence.runs.front().stops;
    });
  }

  void index(size_t number) {
    check_sequence(table_, table_.sequences[number]);
    const Decisions& decisions = table_.sequences[number].decisions;
    for (size_t length = 1; length <= decisions.size(); ++length)
      begun_.try_emplace(key_of(std::span(decisions).first(length)), Begun{number, false});
    bool& ends = begun_.at(key_of(decisions)).ends;
    if (ends) throw InputError("it was recorded before");
    ends = true;
  }

  /// From each of its decisions a job can go on without a change until one ends.
  void check_ways_on(const Decisions& decisions) const {
    for (size_t length = 0; length < decisions.size(); ++length) {
      Decisions goes_on(decisions.begin(), decisions.begin() + static_cast<ptrdiff_t>(length));
      if (length > 0 && ends(goes_on))
        throw InputError("it goes on after decision {}, where another ends", length);
      do goes_on.push_back(std::nullopt);
      while (find(goes_on) != nullptr && !ends(goes_on));
      if (find(goes_on) == nullptr)
        throw InputError(
            "a sequence that begins with its first {} decisions and then goes on without a change "
            "is "
            "missing; record it, too",
            length);
    }
  }

  AdaptTable table_;
  std::map<Key, Begun> begun_;
};

class TableJob : public TrainingJob {
 public:
  TableJob(std::shared_ptr<const IndexedTable> table, uint64_t seed, bool foreseen)
      : table_(std::move(table)), seed_(seed), foreseen_(foreseen) {
    const AdaptTable& recorded = table_->table();
    state_.network = recorded.network;
    state_.curve = recorded.curve;
    stand_at(recorded.start);
  }

  const JobState& state() const override { return state_; }

  void decide(const std::optional<ChangeAtRate>& decision) override {
    if (state_.over) throw InputError("the job is over; start another");
    if (!table_->has(state_.decisions, decision))
      throw InputError("scenario '{}': {} was not recorded here; take what is offered",
                       table_->table().scenario,
                       decision ? std::string(name_of(decision->kind)) : "to go on");
    state_.network = after_decision(state_.network, decision);
    state_.decisions.push_back(decision);
    const std::vector<RecordedRun>& runs = table_->find(state_.decisions)->runs;
    const RecordedRun& run = runs[mix64(seed_) % runs.size()];
    const JobStop& stop = run.stops[state_.decisions.size() - 1];
    state_.curve = table_->table().curve;
    for (const EpochRecord& epoch : std::span(run.curve).first(static_cast<size_t>(stop.epochs)))
      state_.curve.push_back(foreseen_ ? EpochRecord{.spent = epoch.spent} : epoch);
    stand_at(stop);
    state_.over = table_->ends(state_.decisions);
  }

  std::unique_ptr<TrainingJob> copy() const override { return std::make_unique<TableJob>(*this); }

 private:
  void stand_at(const JobStop& stop) {
    state_.spent = stop.spent;
    state_.throughput = stop.throughput;
    state_.epoch_share = stop.epoch_share;
  }

  std::shared_ptr<const IndexedTable> table_;
  uint64_t seed_;
  bool foreseen_;  ///< shows no accuracies after the first decision
  JobState state_;
};

class TableSource : public JobSource {
 public:
  explicit TableSource(AdaptTable table)
      : table_(std::make_shared<const IndexedTable>(std::move(table))),
        foresees_(table_->foresees()),
        fingerprint_(hash_string(table_to_json(table_->table()).dump())) {}

  std::string name() const override { return "table"; }
  std::string scenario() const override { return table_->table().scenario; }
  uint64_t fingerprint() const override { return fingerprint_; }
  int decisions() const override { return table_->table().decisions; }
  bool offers(const JobState& state, const ChangeAtRate& change) const override {
    return !state.over && table_->has(state.decisions, change);
  }
  const std::vector<double>& rates() const override { return table_->table().rates; }
  bool deterministic() const override { return true; }
  bool foresees() const override { return foresees_; }
  std::unique_ptr<TrainingJob> foresee() const override {
    if (!foresees_) return nullptr;
    return std::make_unique<TableJob>(table_, 0, true);
  }
  std::unique_ptr<TrainingJob> start(uint64_t seed) const override {
    return std::make_unique<TableJob>(table_, seed, false);
  }

 private:
  std::shared_ptr<const IndexedTable> table_;
  bool foresees_;
  uint64_t fingerprint_;
};

}  // namespace

bool AdaptTable::timed() const {
  const size_t unit = budget.find(' ');
  return unit != std::string::npos && (budget + ' ').substr(unit, 3) == " s ";
}

void AdaptTable::add(uint64_t seed, std::span<const JobState> states) {
  REVERIE_CHECK(states.size() >= 2);
  const JobState& first = states.front();
  if (sequences.empty()) {
    network = first.network;
    curve = first.curve;
    start = stop_of(first, first.curve.size());
  }
  decisions = std::max(decisions, static_cast<int>(states.size()) - 1);
  if (first.network != network || first.curve != curve || stop_of(first, curve.size()) != start)
    throw InputError("scenario '{}': a job with seed {} begins in another state than those before",
                     scenario, seed);
  RecordedRun run{seed,
                  {states.back().curve.begin() + static_cast<ptrdiff_t>(curve.size()),
                   states.back().curve.end()},
                  {}};
  for (const JobState& state : states.subspan(1)) run.stops.push_back(stop_of(state, curve.size()));
  auto place = std::ranges::find(sequences, states.back().decisions, &RecordedSequence::decisions);
  if (place == sequences.end()) place = sequences.insert(place, {states.back().decisions, {}});
  place->runs.push_back(std::move(run));
}

void AdaptTable::join(const AdaptTable& other) {
  const auto scene = [](const AdaptTable& table) {
    return std::tie(table.scenario, table.budget, table.rates, table.final_epochs, table.network,
                    table.curve, table.start);
  };
  if (scene(*this) != scene(other))
    throw InputError("'{}' and '{}' are not the same network, data and schedule, trained alike",
                     scenario, other.scenario);
  decisions = std::max(decisions, other.decisions);
  for (const RecordedSequence& theirs : other.sequences) {
    auto place = std::ranges::find(sequences, theirs.decisions, &RecordedSequence::decisions);
    if (place == sequences.end()) place = sequences.insert(place, {theirs.decisions, {}});
    for (const RecordedRun& run : theirs.runs)
      if (std::ranges::find(place->runs, run.seed, &RecordedRun::seed) == place->runs.end())
        place->runs.insert(std::ranges::upper_bound(place->runs, run.seed, {}, &RecordedRun::seed),
                           run);
  }
}

std::unique_ptr<JobSource> table_source(AdaptTable table) {
  return std::make_unique<TableSource>(std::move(table));
}

}  // namespace reverie
