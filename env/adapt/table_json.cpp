#include "env/adapt/table_json.h"

#include "core/base/error.h"
#include "core/base/files.h"
#include "env/adapt/published_table.h"

namespace reverie {
namespace {

Json curve_json(const std::vector<EpochRecord>& curve) {
  Json::Array rows;
  for (const EpochRecord& epoch : curve)
    rows.push_back(
        std::vector<double>{epoch.accuracy, epoch.train_accuracy, epoch.loss, epoch.spent});
  return rows;
}

/// The row of numbers `what`, so many of them.
std::vector<double> row_of(const Json& json, size_t numbers, const char* what) {
  const auto row = json.get<std::vector<double>>();
  if (row.size() != numbers)
    throw InputError("{} has {} numbers; it needs {}", what, row.size(), numbers);
  return row;
}

std::vector<EpochRecord> curve_from(const Json& json) {
  std::vector<EpochRecord> curve;
  for (const Json& element : json.array()) {
    const std::vector<double> row = row_of(element, 4, "an epoch of 'curve'");
    curve.push_back({row[0], row[1], row[2], row[3]});
  }
  return curve;
}

Json stop_json(const JobStop& stop) {
  return Json::Array{stop.epochs, stop.spent, stop.throughput, stop.epoch_share};
}

JobStop stop_from(const Json& json) {
  const std::vector<double> row = row_of(json, 4, "a stop");
  return {json.array()[0].get<int>(), row[1], row[2], row[3]};
}

Json run_json(const RecordedRun& run) {
  Json::Array stops;
  for (const JobStop& stop : run.stops) stops.push_back(stop_json(stop));
  return {{"seed", run.seed}, {"stops", stops}, {"curve", curve_json(run.curve)}};
}

RecordedRun run_from(const Json& json) {
  RecordedRun run;
  run.seed = json.at("seed").get<uint64_t>();
  for (const Json& stop : json.at("stops").array()) run.stops.push_back(stop_from(stop));
  run.curve = curve_from(json.at("curve"));
  return run;
}

Json decisions_json(const Network& network, const Decisions& decisions) {
  Json::Array all;
  for (const auto& decision : decisions) {
    Json one;
    if (decision)
      one = {{std::string(name_of(decision->kind)), network.name_of(decision->origin)},
             {"rate", decision->rate}};
    all.push_back(std::move(one));
  }
  return all;
}

ChangeAtRate change_from(const Json& json, const Network& network) {
  for (const ChangeKind kind : {ChangeKind::kDeepen, ChangeKind::kWiden}) {
    const Json* block = json.find(name_of(kind));
    if (block == nullptr) continue;
    const auto name = block->get<std::string>();
    const int origin = network.origin_of(name);
    if (origin < 0)
      throw InputError("a decision changes '{}', which is no block of the first network", name);
    return {kind, origin, json.at("rate").get<double>()};
  }
  throw InputError("a decision must be null or an object with 'deepen' or 'widen'");
}

Decisions decisions_from(const Json& json, const Network& network) {
  Decisions decisions;
  for (const Json& element : json.array()) {
    decisions.emplace_back();
    if (!element.is_null()) decisions.back() = change_from(element, network);
  }
  return decisions;
}

RecordedSequence sequence_from(const Json& json, const Network& network) {
  RecordedSequence sequence{decisions_from(json.at("decisions"), network), {}};
  for (const Json& run : json.at("runs").array()) sequence.runs.push_back(run_from(run));
  return sequence;
}

/// A member on each line, and a sequence.
std::string text_of(const Json& table) {
  std::string text;
  for (const auto& [name, value] : table.object()) {
    text += fmt::format("{}{}: ", text.empty() ? "{" : ",\n", Json(name).dump());
    if (name != "sequences") {
      text += value.dump();
      continue;
    }
    const char* before = "[\n";
    for (const Json& sequence : value.array()) {
      text += before + sequence.dump();
      before = ",\n";
    }
    text += "]";
  }
  return text + "}\n";
}

}  // namespace

Json table_to_json(const AdaptTable& table) {
  Json::Array sequences;
  for (const RecordedSequence& sequence : table.sequences) {
    Json::Array runs;
    for (const RecordedRun& run : sequence.runs) runs.push_back(run_json(run));
    sequences.push_back(
        {{"decisions", decisions_json(table.network, sequence.decisions)}, {"runs", runs}});
  }
  return {{"format", kTableFormat},
          {"scenario", table.scenario},
          {"network", to_yaml(table.network)},
          {"budget", table.budget},
          {"rates", table.rates},
          {"decisions", table.decisions},
          {"final_epochs", table.final_epochs},
          {"curve", curve_json(table.curve)},
          {"start", stop_json(table.start)},
          {"sequences", sequences}};
}

AdaptTable table_from_json(const Json& json) {
  AdaptTable table;
  table.scenario = json.at("scenario").get<std::string>();
  table.network = parse_network(json.at("network").get<std::string>(), "network");
  table.budget = json.at("budget").get<std::string>();
  table.rates = json.at("rates").get<std::vector<double>>();
  table.decisions = json.at("decisions").get<int>();
  table.final_epochs = json.at("final_epochs").get<int>();
  table.curve = with_context("curve", [&] { return curve_from(json.at("curve")); });
  table.start = with_context("start", [&] { return stop_from(json.at("start")); });
  const Json::Array& sequences = json.at("sequences").array();
  for (size_t i = 0; i < sequences.size(); ++i)
    with_context(fmt::format("sequence {}", i + 1),
                 [&] { table.sequences.push_back(sequence_from(sequences[i], table.network)); });
  return table;
}

AdaptTable read_table(const std::string& path) {
  return with_context(path, [&] {
    const Json json = Json::parse(read_file(path));
    const auto format = json.at("format").get<std::string>();
    if (format != kTableFormat && format != kPublishedFormat)
      throw InputError("its format is '{}'; known are {} and {}", format, kTableFormat,
                       kPublishedFormat);
    AdaptTable table = format == kTableFormat ? table_from_json(json) : published_table(json);
    table_source(table);  // refuses what it could not play
    return table;
  });
}

void write_table(const std::string& path, const AdaptTable& table) {
  write_file(path, text_of(table_to_json(table)));
}

}  // namespace reverie
