#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/cost/contest.h"
#include "core/cost/machine.h"
#include "core/onnx/import.h"

namespace reverie {

/// Models side by side on a machine that runs files.
struct FileComparison {
  ContestResult contest;  ///< contestant i: files[i]; of a file that disagrees nothing is known
  MachineInfo machine;
  /// By file: the largest max|a-b| / max|a| of an output, a being what `reference` makes of the first file. Not a
  /// number where one side is not finite and the other is.
  std::vector<double> errors;
};

/// Runs the first file and those others in turn whose error is at most `tolerance`, on equal random inputs. The
/// files have equal inputs and outputs. InputError where one cannot be run, or where outputs differ in name or type.
FileComparison compare_files(const std::vector<std::filesystem::path>& files, const ImportOptions& shapes,
                             Machine& machine, Machine& reference, double tolerance,
                             const ContestOptions& options);

}  // namespace reverie
