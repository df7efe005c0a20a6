#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/cost/machine.h"
#include "core/cost/paired_benchmark.h"
#include "core/onnx/import.h"

namespace reverie {

/// Models side by side on a machine that runs files.
struct FileComparison {
  BenchmarkResult benchmark;  ///< contestant i: files[i]; of a file that disagrees nothing is known
  MachineInfo machine;
  /// By file: worst_error beside what the machine makes of the first file, or beside what
  /// `reference` makes of it where that is less: an optimizer of the machine may be wrong on the
  /// first file alone.
  std::vector<double> errors;
};

/// The largest max|a-b| / max|a| of the outputs of two models; not a number where one is not finite
/// and the other is. InputError where they differ in name or type.
double worst_error(const std::vector<NamedTensor>& reference,
                   const std::vector<NamedTensor>& other);

/// Runs the first file and those others in turn whose error is at most `tolerance`, on equal random
/// inputs. The files have equal inputs and outputs. InputError where one cannot be run, or where
/// outputs differ in name or type.
FileComparison compare_files(const std::vector<std::filesystem::path>& files,
                             const ImportOptions& shapes, Machine& machine, Machine& reference,
                             double tolerance, const BenchmarkOptions& options);

}  // namespace reverie
