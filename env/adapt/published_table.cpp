#include "env/adapt/published_table.h"

#include <algorithm>

#include "core/base/error.h"

namespace reverie {
namespace {

constexpr double kRate = 0.01;
constexpr int kGoOn = 3;

constexpr char kCnn1[] = R"(
image: [3, 32, 32]
blocks:
  - {conv: 32, name: conv1, padding: 0}
  - {average_pool: 2, name: pool}
  - {conv: 32, name: conv2, padding: 0}
  - {global_pool: true, name: mean}
  - {linear: 10, name: linear, relu: true}
)";

constexpr char kCnn2[] = R"(
image: [3, 32, 32]
blocks:
  - {conv: 64, name: conv1, padding: 0}
  - {conv: 32, name: conv2, padding: 0}
  - {global_pool: true, name: mean}
  - {linear: 10, name: linear, relu: true}
)";

Decisions decisions_of(const Network& network, const std::vector<int>& actions) {
  constexpr const char* kDeepened[] = {"conv1", "conv2", "linear"};
  Decisions decisions;
  for (const int action : actions) {
    if (action < 0 || action > kGoOn)
      throw InputError("there is no action {}; actions are 0 to {}", action, kGoOn);
    decisions.emplace_back();
    if (action != kGoOn)
      decisions.back() = {ChangeKind::kDeepen, network.origin_of(kDeepened[action]), kRate};
  }
  return decisions;
}

/// `begin`: share of the budget before its first epoch.
std::vector<EpochRecord> curve_of(const Json& json, double begin, double budget) {
  const auto accuracy = json.at("test_accuracy").get<std::vector<double>>();
  const auto train = json.at("train_accuracy").get<std::vector<double>>();
  const auto times = json.at("evaluated_at_s").get<std::vector<double>>();
  if (accuracy.empty() || train.size() < accuracy.size() || times.size() < accuracy.size())
    throw InputError(
        "'test_accuracy', 'train_accuracy' and 'evaluated_at_s' must have a number for each epoch");
  std::vector<EpochRecord> curve;
  for (size_t i = 0; i < accuracy.size(); ++i)
    curve.push_back({accuracy[i], train[i], 0, std::min(1.0, begin + times[i] / budget)});
  return curve;
}

/// What the last of so many epochs took; at least one.
double last_epoch(const std::vector<EpochRecord>& curve, size_t epochs, double begin) {
  return curve[epochs - 1].spent - (epochs > 1 ? curve[epochs - 2].spent : begin);
}

RecordedSequence sequence_of(const Json& json, const AdaptTable& table, double begin,
                             double budget) {
  const auto left = json.at("time_left_s").get<std::vector<double>>();
  RecordedRun run;
  run.curve = curve_of(json, begin, budget);
  if (std::ssize(left) != table.decisions || std::ssize(run.curve) < table.decisions)
    throw InputError("'time_left_s' must have {} numbers, and there must be as many epochs",
                     table.decisions);
  for (size_t decision = 1; decision < left.size(); ++decision)
    run.stops.push_back({static_cast<int>(decision), 1 - left[decision] / budget, 1,
                         last_epoch(run.curve, decision, begin)});
  run.stops.push_back(
      {static_cast<int>(run.curve.size()), 1, 1, last_epoch(run.curve, run.curve.size(), begin)});
  const double accuracy = json.at("accuracy").get<double>();
  if (run.curve.back().accuracy != accuracy)
    throw InputError("its accuracy, {}, is not that of its last epoch", accuracy);
  return {decisions_of(table.network, json.at("actions").get<std::vector<int>>()),
          {std::move(run)}};
}

}  // namespace

Network published_network(const std::string& name) {
  if (name == "cnn1") return parse_network(kCnn1, name);
  if (name == "cnn2") return parse_network(kCnn2, name);
  throw InputError("there is no published network '{}'; known are cnn1 and cnn2", name);
}

AdaptTable published_table(const Json& json) {
  AdaptTable table;
  table.scenario = json.at("name").get<std::string>();
  table.network = published_network(json.at("network").at("name").get<std::string>());
  const double budget = json.at("budget_s").get<double>(),
               begin = json.at("adaptation_start_s").get<double>();
  if (budget <= 0 || begin < 0 || begin >= budget)
    throw InputError("'adaptation_start_s' must be within 'budget_s', which is {}", budget);
  table.budget = fmt::format("{} s on one GPU", budget);
  table.rates = {kRate};
  table.decisions = json.at("decisions").get<int>();
  table.final_epochs = 1;
  table.curve = curve_of(json.at("before_adaptation"), 0, budget);
  const Json::Array& sequences = json.at("sequences").array();
  if (sequences.empty()) throw InputError("'sequences' is empty; a table needs at least one");
  const auto left = sequences.front().at("time_left_s").get<std::vector<double>>();
  if (left.empty()) throw InputError("the first sequence has no 'time_left_s'");
  table.start = {0, 1 - left.front() / budget, 1, last_epoch(table.curve, table.curve.size(), 0)};
  for (size_t i = 0; i < sequences.size(); ++i)
    with_context(fmt::format("sequence {}", i + 1), [&] {
      table.sequences.push_back(sequence_of(sequences[i], table, begin / budget, budget));
    });
  return table;
}

}  // namespace reverie
