#include "core/base/metrics.h"

#include <chrono>
#include <cstring>
#include <filesystem>
#include <optional>
#include <sstream>

#include "core/base/crc32c.h"
#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/json.h"

namespace reverie {
namespace {

constexpr int kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5;

template <typename T>
std::string little_endian(T value) {
  std::string bytes(sizeof(T), '\0');
  for (size_t i = 0; i < sizeof(T); ++i) bytes[i] = static_cast<char>(value >> (8 * i) & 0xff);
  return bytes;
}

uint32_t masked_crc(std::string_view bytes) {
  const uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>((value & 0x7f) | 0x80);
  return bytes + static_cast<char>(value);
}

std::string tag(int field, int wire_type) {
  return varint(static_cast<uint64_t>(field << 3 | wire_type));
}

std::string message_field(int field, std::string_view bytes) {
  return tag(field, kLengthDelimited) + varint(bytes.size()) + std::string(bytes);
}

std::string event_header(double wall_time, int64_t step) {
  uint64_t bits;
  std::memcpy(&bits, &wall_time, sizeof bits);
  return tag(1, kFixed64) + little_endian(bits) + tag(2, kVarint) +
         varint(static_cast<uint64_t>(step));
}

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::optional<MetricsRow> row_of(const std::string& line) try {
  const Json object = Json::parse(line);
  MetricsRow row{object.at("step").get<int64_t>(), {}};
  for (const auto& [name, value] : object.object())
    if (name != "step" && value.is_number()) row.values[name] = value.get<double>();
  return row;
} catch (const InputError&) {
  return std::nullopt;
}

/// A block of code in Markdown.
std::string as_code(const std::string& text) {
  std::istringstream lines(text);
  std::string code;
  for (std::string line; std::getline(lines, line);) code += "    " + line + "\n";
  return code;
}

void keep_lines_until(const std::string& path, int64_t step) {
  if (!file_exists(path)) return;
  std::istringstream lines(read_file(path));
  std::string kept, line;
  while (std::getline(lines, line)) {
    const auto row = row_of(line);
    if (row && row->step <= step) kept += line + "\n";
  }
  write_file(path, kept);
}

void remove_event_files(const std::string& directory) {
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    if (entry.path().filename().string().starts_with("events.out.tfevents."))
      std::filesystem::remove(entry.path());
}

std::string event_path(const std::string& directory) {
  for (auto stamp = static_cast<int64_t>(now());; ++stamp) {
    std::string path = fmt::format("{}/events.out.tfevents.{}.reverie", directory, stamp);
    if (!file_exists(path)) return path;
  }
}

}  // namespace

std::string tfrecord(std::string_view bytes) {
  const std::string length = little_endian<uint64_t>(bytes.size());
  return length + little_endian(masked_crc(length)) + std::string(bytes) +
         little_endian(masked_crc(bytes));
}

std::string version_event(double wall_time) {
  return event_header(wall_time, 0) + message_field(3, "brain.Event:2");
}

std::string start_event(double wall_time, int64_t step) {
  return event_header(wall_time, step) + message_field(7, tag(1, kVarint) + varint(1));
}

std::string scalar_event(double wall_time, int64_t step, const Metrics& values) {
  std::string summary;
  for (const auto& [name, value] : values) {
    const auto single = static_cast<float>(value);
    uint32_t bits;
    std::memcpy(&bits, &single, sizeof bits);
    summary += message_field(1, message_field(1, name) + tag(2, kFixed32) + little_endian(bits));
  }
  return event_header(wall_time, step) + message_field(5, summary);
}

std::string text_event(double wall_time, const std::string& name, const std::string& text) {
  constexpr int kString = 7;
  const std::string shape = message_field(2, tag(1, kVarint) + varint(1));
  const std::string tensor =
      tag(1, kVarint) + varint(kString) + message_field(2, shape) + message_field(8, text);
  const std::string metadata = message_field(1, message_field(1, "text"));
  return event_header(wall_time, 0) +
         message_field(5, message_field(1, message_field(1, name) + message_field(8, tensor) +
                                               message_field(9, metadata)));
}

MetricsWriter::MetricsWriter(const std::string& directory, int64_t resume_step) {
  const std::string path = directory + "/metrics.jsonl";
  if (resume_step > 0) {
    keep_lines_until(path, resume_step);
  } else {
    write_file(path, "");
    remove_event_files(directory);
  }
  lines_.open(path, std::ios::app | std::ios::binary);
  const std::string events = event_path(directory);
  events_.open(events, std::ios::binary);
  if (!lines_ || !events_) throw InputError("{}: metrics cannot be written there", directory);
  events_ << tfrecord(version_event(now())) << tfrecord(start_event(now(), resume_step + 1));
  const std::string config = directory + "/config.yaml";
  if (resume_step == 0 && file_exists(config))
    events_ << tfrecord(text_event(now(), "config", as_code(read_file(config))));
  events_ << std::flush;
}

void MetricsWriter::write(int64_t step, const Metrics& values) {
  Json line = {{"step", step}};
  for (const auto& [name, value] : values) line[name] = value;
  lines_ << line.dump() << "\n" << std::flush;
  events_ << tfrecord(scalar_event(now(), step, values)) << std::flush;
}

std::vector<MetricsRow> read_metrics(const std::string& path) {
  const std::string content = read_file(path);
  std::istringstream lines(content.substr(0, content.rfind('\n') + 1));
  std::vector<MetricsRow> rows;
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    auto row = row_of(line);
    if (!row) throw InputError("{}:{}: is no JSON object with a step", path, number);
    rows.push_back(std::move(*row));
  }
  return rows;
}

}  // namespace reverie
