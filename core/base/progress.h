#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace reverie {

/// kBar redraws one line on a terminal; kLines prints a line now and then (logs, CI).
enum class ProgressStyle { kBar, kLines, kQuiet };

/// kBar where standard error is a terminal, kLines elsewhere, kQuiet on demand.
ProgressStyle progress_style(bool quiet);

/// How far long work has come, on standard error, with rate and time left. Not for concurrent use.
class Progress {
 public:
  /// `total` 0: unknown. `unit` names what is counted ("steps").
  Progress(std::string label, int64_t total, std::string unit, ProgressStyle style);
  /// Prints a last line unless nothing was done.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `note` stands behind the figures ("loss 0.12"). Cheap to call often. `done` of a resumed run
  /// starts where it stood: call `start_at` first, so that the rate counts only new work.
  void update(int64_t done, const std::string& note = {});
  void start_at(int64_t done);
  int64_t done() const { return done_; }
  /// A line of its own that leaves the bar intact; silent under kQuiet.
  void say(const std::string& line);

 private:
  void draw(bool last);

  std::string label_, unit_, note_;
  int64_t total_, first_ = 0, done_ = 0;
  ProgressStyle style_;
  std::chrono::steady_clock::time_point start_, drawn_;
};

/// "collect 40/100 steps  20.0/s  0:03 left  note", with a bar of `width` cells when above 0.
std::string progress_line(const std::string& label, const std::string& unit, int64_t first,
                          int64_t done, int64_t total, double seconds, const std::string& note,
                          int width);
/// "0:07", "12:30", "3:02:11".
std::string duration_text(double seconds);

}  // namespace reverie
