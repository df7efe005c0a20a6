#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "env/adapt/training_source.h"

namespace reverie {

/// What a run tells of itself.
struct RunReport {
  std::string scenario;
  std::string method;  ///< what decided
  uint64_t seed = 0;
  std::string budget;           ///< budget_text
  int final_epochs = 3;         ///< the accuracy is the mean of so many last epochs
  bool rates = true;            ///< decisions are told with their rates
  std::vector<JobState> stops;  ///< at each decision, then at the end
  NetworkCheck onnx;            ///< of the network that was written
  ImageCounts images;
  std::optional<double>
      unchanged;  ///< accuracy of a run with the same seed that changes nothing, where it is known

  const JobState& end() const { return stops.back(); }
  /// From 0 to 1.
  double accuracy() const;
  /// Each as `text_of` has it.
  std::vector<std::string> decisions() const;
};

/// "trained on 6000 of 60000 images, accuracy on 3000 of 10000".
std::string images_text(const ImageCounts& images);

/// Writes report.json, report.md and report.html, one page with everything in it.
void write_report(const RunReport& report, const std::string& folder);

}  // namespace reverie
