#include "core/report/runs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/gzip.h"
#include "core/base/json.h"

namespace reverie {
namespace {

std::string fields_of(const FlatRun& run) {
  std::vector<std::string> names;
  for (const auto& [name, value] : run.words) names.push_back(name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string word_of(const std::string& name, const Json& value) {
  if (!value.is_string()) return value.dump();
  const auto text = value.get<std::string>();
  return name == "model" && text.ends_with(".onnx") ? std::filesystem::path(text).stem().string()
                                                    : text;
}

std::vector<std::map<std::string, double>> trace_of(const Json& points) {
  std::vector<std::map<std::string, double>> trace;
  for (const Json& point : points.array()) {
    trace.emplace_back();
    if (!point.is_object()) continue;
    for (const auto& [name, value] : point.object())
      if (value.is_number()) trace.back()[name] = value.get<double>();
  }
  return trace;
}

FlatRun run_of(const Json& object, const std::string& where) {
  if (!object.is_object()) throw InputError("{}: is no JSON object, as a run must be", where);
  FlatRun run;
  run.where = where;
  for (const auto& [name, value] : object.object()) {
    if (name == "trace" && value.is_array()) run.trace = trace_of(value);
    if (value.is_array() || value.is_object()) continue;
    run.words[name] = word_of(name, value);
    if (value.is_number()) run.numbers[name] = value.get<double>();
  }
  return run;
}

void read_array(const std::string& file, const std::string& content, std::vector<FlatRun>& runs) {
  size_t index = 0;
  const Json all = with_context(file, [&] { return Json::parse(content); });
  for (const Json& object : all.array())
    runs.push_back(run_of(object, fmt::format("{}[{}]", file, index++)));
}

void read_lines(const std::string& file, const std::string& content, std::vector<FlatRun>& runs) {
  std::istringstream lines(content);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::string where = fmt::format("{}:{}", file, ++number);
    if (line.find_first_not_of(" \t\r") != std::string::npos)
      runs.push_back(run_of(with_context(where, [&] { return Json::parse(line); }), where));
  }
}

bool fits(const FlatRun& run, const std::string& field, const std::string& value) {
  const auto found = run.words.find(field);
  return found != run.words.end() && found->second == value;
}

bool any_fits(const std::vector<FlatRun>& runs, const std::string& field,
              const std::string& value) {
  return std::any_of(runs.begin(), runs.end(),
                     [&](const FlatRun& run) { return fits(run, field, value); });
}

/// Between commas.
std::vector<std::string> parts_of(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream rest(list);
  for (std::string part; std::getline(rest, part, ',');) parts.push_back(part);
  return parts;
}

std::string values_of(const std::vector<FlatRun>& runs, const std::string& field) {
  std::set<std::string> values;
  for (const FlatRun& run : runs)
    if (const auto found = run.words.find(field); found != run.words.end())
      values.insert(found->second);
  if (values.empty()) return "no run has that field";
  return fmt::format("its values are {}", fmt::join(values, ", "));
}

/// The last point of the trace at or before the value.
const std::map<std::string, double>* point_at(const FlatRun& run, const std::string& field,
                                              double value) {
  const std::map<std::string, double>* last = nullptr;
  for (const auto& point : run.trace)
    if (const auto found = point.find(field); found != point.end() && found->second <= value)
      last = &point;
  return last;
}

void check_went_so_far(const FlatRun& run, const std::string& field, double value) {
  const auto ended = run.words.find("stopped_by");
  if (ended == run.words.end() || ended->second == "exhausted") return;
  if (const double reached = run.number(field); reached < value)
    throw InputError("{}: its {} ended it at {} = {:g}, before {:g}; give it more", run.where,
                     ended->second, field, reached, value);
}

/// The whole file, unpacked where gzip packed it.
std::string unpacked(const std::string& file) {
  const std::string content = read_file(file);
  if (!file.ends_with(".gz")) return content;
  return with_context(file, [&] { return gunzip(content); });
}

}  // namespace

const std::string& FlatRun::word(const std::string& field) const {
  const auto found = words.find(field);
  if (found == words.end())
    throw InputError("{}: has no field '{}'; its fields are {}", where, field, fields_of(*this));
  return found->second;
}

double FlatRun::number(const std::string& field) const {
  const std::string& text = word(field);
  const auto found = numbers.find(field);
  if (found == numbers.end())
    throw InputError("{}: field '{}' is {}, no number", where, field, text);
  return found->second;
}

std::vector<FlatRun> read_runs(const std::vector<std::string>& files) {
  std::vector<FlatRun> runs;
  for (const std::string& file : files) {
    const std::string content = unpacked(file);
    const size_t first = content.find_first_not_of(" \t\r\n");
    if (first == std::string::npos) throw InputError("{}: holds no runs", file);
    if (content[first] == '[')
      read_array(file, content, runs);
    else
      read_lines(file, content, runs);
  }
  return runs;
}

std::vector<FlatRun> runs_at(const std::vector<FlatRun>& runs, const std::string& field,
                             double value) {
  std::vector<FlatRun> result = runs;
  for (FlatRun& run : result) {
    const auto* point = point_at(run, field, value);
    if (point == nullptr)
      throw InputError("{}: its trace has no point at {} = {:g} or before", run.where, field,
                       value);
    check_went_so_far(run, field, value);
    for (const auto& [name, number] : std::map(*point)) {
      run.numbers[name] = number;
      run.words[name] = fmt::format("{:.17g}", number);
    }
  }
  return result;
}

std::pair<std::string, std::string> parse_condition(const std::string& text) {
  const size_t at = text.find('=');
  if (at == std::string::npos) throw InputError("'{}' is no condition; write FIELD=VALUE", text);
  return {text.substr(0, at), text.substr(at + 1)};
}

std::vector<FlatRun> runs_where(
    const std::vector<FlatRun>& runs,
    const std::vector<std::pair<std::string, std::string>>& conditions) {
  std::vector<FlatRun> kept = runs;
  for (const auto& [field, wanted] : conditions) {
    std::vector<std::string> values = {wanted};
    if (!any_fits(kept, field, wanted) && wanted.find(',') != std::string::npos)
      values = parts_of(wanted);
    for (const std::string& value : values)
      if (!any_fits(kept, field, value))
        throw InputError("no run has {}={}; {}", field, value, values_of(kept, field));
    std::erase_if(kept, [&, &name = field](const FlatRun& run) {
      return std::none_of(values.begin(), values.end(),
                          [&](const std::string& value) { return fits(run, name, value); });
    });
  }
  return kept;
}

}  // namespace reverie
