#pragma once

#include <cstdint>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reverie {

using Metrics = std::vector<std::pair<std::string, double>>;

/// Scalars over steps in a run directory, twice: `metrics.jsonl`, one object a line
/// ({"step": 10, "losses/total": 0.5}; values that are no number as null), and a TensorBoard event
/// file, which begins with the directory's config.yaml, if there is one, as a text "config". The
/// first says nothing of times, so that equal runs give equal bytes.
class MetricsWriter {
 public:
  /// Appends; lines of steps after `resume_step` (left by an interrupted run) are dropped first.
  /// With resume_step 0 the files start empty.
  explicit MetricsWriter(const std::string& directory, int64_t resume_step = 0);

  /// Flushes: what was written survives a kill.
  void write(int64_t step, const Metrics& values);

 private:
  std::ofstream lines_;
  std::ofstream events_;
};

/// Metrics of one step, as read back.
struct MetricsRow {
  int64_t step = 0;
  std::map<std::string, double> values;
};
/// Reads `metrics.jsonl`; a torn last line is skipped, any other that is no object is an
/// InputError.
std::vector<MetricsRow> read_metrics(const std::string& path);

/// One record of a TFRecord file: uint64 length, masked CRC-32C of the length, the bytes, masked
/// CRC-32C of the bytes; little-endian. The mask is rotate_right(crc, 15) + 0xa282ead8.
std::string tfrecord(std::string_view bytes);

/// tensorflow.Event as protocol-buffer bytes: wall_time (1, double), step (2, int64) and one of
/// file_version (3, string), summary (5: repeated value (1: tag (1), simple_value (2, float))),
/// session_log (7: status (1) START = 1), at which TensorBoard drops what has later steps.
std::string version_event(double wall_time);
std::string start_event(double wall_time, int64_t step);
std::string scalar_event(double wall_time, int64_t step, const Metrics& values);
/// The text is Markdown. A summary's value (tag (1), tensor (8): dtype (1) DT_STRING = 7, shape (2)
/// one dimension (2) of size (1) 1, string_val (8); metadata (9): plugin_data (1): plugin_name (1)
/// "text").
std::string text_event(double wall_time, const std::string& tag, const std::string& text);

}  // namespace reverie
