#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace reverie {

/// One run of an experiment as its file has it: {"model": ..., "method": ..., "seed": ...,
/// "improvement_percent": ..., ..., "trace": [{"seconds": ..., ...}, ...]}.
struct FlatRun {
  std::string where;  ///< "FILE:LINE", or "FILE[INDEX]" in an array
  /// Every field that is no object or array, as text: words as they are, but a model's file name
  /// cut down to its stem ("models/bert.onnx" is "bert"); numbers and true, false, null as JSON has
  /// them.
  std::map<std::string, std::string> words;
  std::map<std::string, double> numbers;             ///< those that are numbers
  std::vector<std::map<std::string, double>> trace;  ///< numbers of each of its points, in order

  /// InputError that names the run and its fields where there is none.
  const std::string& word(const std::string& field) const;
  double number(const std::string& field) const;
};

/// The runs of files that hold one JSON object a line, or one array of objects; of names that end
/// in .gz what gzip packed. InputError names file and line of what is neither, and a file that is
/// damaged.
std::vector<FlatRun> read_runs(const std::vector<std::string>& files);

/// The runs as they stood at `field` = `value` of their traces: every number that the last point at
/// or before it has replaces the run's. InputError, naming the run, where no point is that early,
/// or where something cut the run short before: its `field` is below the value and it says
/// `stopped_by` something else than "exhausted".
std::vector<FlatRun> runs_at(const std::vector<FlatRun>& runs, const std::string& field,
                             double value);

/// "FIELD=VALUE" in two. InputError where there is no "=".
std::pair<std::string, std::string> parse_condition(const std::string& text);

/// The runs of which all fields have the given values, or one of several, separated by commas,
/// where no run has the whole as its value. InputError when no run has a value, with the values
/// that the field has.
std::vector<FlatRun> runs_where(const std::vector<FlatRun>& runs,
                                const std::vector<std::pair<std::string, std::string>>& conditions);

}  // namespace reverie
