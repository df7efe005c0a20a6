#include "core/cost/measured.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/hash.h"
#include "core/base/stopwatch.h"
#include "core/cost/cached_costs.h"
#include "core/cost/roofline.h"
#include "core/cost/scaled_estimates.h"

namespace reverie {
namespace {

CostTable empty_table(Machine& machine) {
  const MachineInfo info = machine.info();
  return {.device = info.device,
          .library = info.library,
          .driver = info.driver,
          .profile = machine.profile()};
}

/// Letters and digits, everything else as single dashes.
std::string slug(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!result.empty() && result.back() != '-') {
      result += '-';
    }
  }
  return result;
}

/// One process at a time brings a table up to date.
class FileLock {
 public:
  explicit FileLock(const std::string& path)
      : file_(open((path + ".lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666)) {
    if (file_ < 0) throw InputError("cannot write '{}.lock'; set REVERIE_CACHE", path);
    flock(file_, LOCK_EX);
  }
  ~FileLock() { close(file_); }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int file_;
};

class MeasuredCosts : public CachedCosts {
 public:
  explicit MeasuredCosts(const MeasureOptions& options)
      : options_(options),
        path_(measured_table_path(options)),
        table_(empty_table(*options.machine)),
        device_(device_profile(table_.profile)),
        scaled_(device_) {
    if (path_.empty()) return;
    if (options.table.empty()) create_directory(options.directory + "/costs");
    if (file_exists(path_)) take(read_cost_table(path_));
    for (const auto& [signature, entry] : table_.entries) scaled_.add(signature, entry);
  }

  ~MeasuredCosts() override {
    try {
      keep();
    } catch (const std::exception& error) {
      fmt::print(stderr, "measured costs were not kept: {}\n", error.what());
    }
  }

  std::string name() const override { return options_.machine->name(); }
  CostSource source() const override { return CostSource::kMeasured; }
  bool deterministic() const override { return false; }
  bool fuses() const override { return options_.machine->fuses(); }

  /// Joined with what other processes measured meanwhile.
  void keep() override {
    if (path_.empty() || !unsaved_) return;
    const FileLock lock(path_);
    if (file_exists(path_)) table_.join(read_cost_table(path_));
    write_cost_table(path_, table_);
    unsaved_ = false;
  }

 private:
  Time time(const OpSignature& signature, const Cost& work) override {
    const std::lock_guard lock(mutex_);
    const std::string text = signature.text();
    const auto known = table_.entries.find(text);
    if (known != table_.entries.end()) return {known->second.runtime};
    if (out_of_time()) return {scaled_.of(signature, work), true};
    const std::optional<TableEntry> entry = measure(signature, work);
    if (!entry) return {roofline_time(device_, signature), true};
    count_measurement();
    table_.entries[text] = *entry;
    table_.saw_clock(options_.machine->clock_mhz());
    scaled_.add(text, *entry);
    unsaved_ = true;
    save_now_and_then();
    return {entry->runtime};
  }

  void take(CostTable known) {
    if (known.device != table_.device || known.library != table_.library ||
        known.driver != table_.driver)
      throw InputError("'{}' was measured on {} ({}), not on {} ({})", path_, known.device,
                       known.library, table_.device, table_.library);
    table_ = std::move(known);
  }

  bool out_of_time() const {
    return options_.time_limit > 0 && age_.seconds() >= options_.time_limit;
  }

  /// Nothing where the operator cannot be run, or not on any numbers (a quotient of integers).
  std::optional<TableEntry> measure(const OpSignature& signature, const Cost& work) {
    if (signature.op == &opaque_op()) return {};
    MedianInterval time;
    try {
      time = options_.machine->time_operator(signature, options_.timing);
    } catch (const DeviceError&) {
      throw;
    } catch (const InputError& error) {
      tell_unmeasured(signature.text(), error.what());
      return {};
    }
    return TableEntry{.runtime = Picoseconds::from_seconds(time.median),
                      .spread = time.spread(),
                      .repeats = time.samples,
                      .estimate = roofline_time(device_, signature),
                      .flops = work.flops,
                      .bytes = work.bytes,
                      .launches = work.launches};
  }

  void tell_unmeasured(const std::string& signature, const std::string& reason) {
    constexpr int kFew = 3;
    if (options_.on_unmeasured) return options_.on_unmeasured(signature, reason);
    if (++unmeasured_ <= kFew)
      fmt::print(stderr, "estimated, not measured on {}: {}: {}\n", name(), signature, reason);
    if (unmeasured_ == kFew + 1)
      fmt::print(stderr, "estimated, not measured on {}: more\n", name());
  }

  void save_now_and_then() {
    constexpr double kPeriod = 5;
    if (since_saved_.seconds() < kPeriod) return;
    since_saved_ = {};
    keep();
  }

  MeasureOptions options_;
  std::string path_;
  std::mutex mutex_;  // guards the table, and that one operator is timed at a time
  CostTable table_;
  DeviceProfile device_;
  ScaledEstimates scaled_;
  bool unsaved_ = false;
  int unmeasured_ = 0;
  const Stopwatch age_;
  Stopwatch since_saved_;
};

}  // namespace

std::string cache_directory() {
  const auto variable = [](const char* name) -> std::string {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
  };
  if (const std::string own = variable("REVERIE_CACHE"); !own.empty()) return own;
  const std::string xdg = variable("XDG_CACHE_HOME"), home = variable("HOME");
  const std::string folder = !xdg.empty()   ? xdg + "/reverie"
                             : home.empty() ? ""
                                            : home + "/.cache/reverie";
  try {
    if (!folder.empty()) create_directory(folder);
    return folder;
  } catch (const InputError&) {
    return "";
  }
}

std::string measured_table_path(const MeasureOptions& options) {
  if (!options.table.empty()) return options.table;
  if (options.directory.empty()) return "";
  const CostTable key = empty_table(*options.machine);
  std::string whole = key.device + "\n" + key.library;
  if (!key.driver.empty()) whole += "\n" + key.driver;
  return fmt::format("{}/costs/{}-{:08x}.v{}.h5", options.directory, slug(whole),
                     static_cast<uint32_t>(hash_string(whole)), kCostTableSchema);
}

std::shared_ptr<CostModel> make_measured_cost_model(const MeasureOptions& options) {
  return std::make_shared<MeasuredCosts>(options);
}

}  // namespace reverie
