#include "core/base/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "core/base/error.h"

namespace reverie {
namespace {

constexpr int kBarWidth = 24;
constexpr auto kBarInterval = std::chrono::milliseconds(200);
constexpr auto kLineInterval = std::chrono::seconds(10);

}  // namespace

ProgressStyle progress_style(bool quiet) {
  if (quiet) return ProgressStyle::kQuiet;
  return isatty(STDERR_FILENO) ? ProgressStyle::kBar : ProgressStyle::kLines;
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<int64_t>(std::max(0.0, seconds) + 0.5);
  const int64_t hours = whole / 3600, minutes = whole / 60 % 60;
  if (hours > 0) return fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60);
  return fmt::format("{}:{:02}", minutes, whole % 60);
}

std::string progress_line(const std::string& label, const std::string& unit, int64_t first,
                          int64_t done, int64_t total, double seconds, const std::string& note,
                          int width) {
  std::string line = label;
  if (width > 0 && total > 0) {
    const auto filled = static_cast<int>(std::min(done, total) * width / total);
    line += fmt::format(" [{:#<{}}{:.<{}}]", "", filled, "", width - filled);
  }
  line +=
      total > 0 ? fmt::format(" {}/{} {}", done, total, unit) : fmt::format(" {} {}", done, unit);
  const double rate = seconds > 0 ? static_cast<double>(done - first) / seconds : 0;
  if (rate > 0) line += fmt::format("  {:.3g}/s", rate);
  if (rate > 0 && done < total)
    line += fmt::format("  {} left", duration_text(static_cast<double>(total - done) / rate));
  else
    line += fmt::format("  {}", duration_text(seconds));
  if (!note.empty()) line += "  " + note;
  return line;
}

Progress::Progress(std::string label, int64_t total, std::string unit, ProgressStyle style)
    : label_(std::move(label)),
      unit_(std::move(unit)),
      total_(total),
      style_(style),
      start_(std::chrono::steady_clock::now()),
      drawn_(start_) {}

Progress::~Progress() {
  if (done_ > first_) draw(true);
}

void Progress::start_at(int64_t done) { first_ = done_ = done; }

void Progress::update(int64_t done, const std::string& note) {
  done_ = done;
  note_ = note;
  if (style_ == ProgressStyle::kQuiet) return;
  const auto now = std::chrono::steady_clock::now();
  const auto since = now - drawn_;
  if (style_ == ProgressStyle::kBar ? since < kBarInterval : since < kLineInterval) return;
  drawn_ = now;
  draw(false);
}

void Progress::say(const std::string& line) {
  if (style_ == ProgressStyle::kQuiet) return;
  fmt::print(stderr, "{}{}\n", style_ == ProgressStyle::kBar ? "\r\033[K" : "", line);
}

void Progress::draw(bool last) {
  if (style_ == ProgressStyle::kQuiet) return;
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
  const bool bar = style_ == ProgressStyle::kBar;
  const std::string line = progress_line(label_, unit_, first_, done_, total_, elapsed.count(),
                                         note_, bar ? kBarWidth : 0);
  fmt::print(stderr, "{}{}{}", bar ? "\r\033[K" : "", line, bar && !last ? "" : "\n");
  std::fflush(stderr);
}

}  // namespace reverie
