#include <fmt/ranges.h>

#include <charconv>
#include <functional>
#include <vector>

#include "core/base/error.h"
#include "core/cost/cost_fit.h"
#include "core/cost/measured.h"
#include "core/cost/roofline.h"
#include "core/cost/table.h"

namespace reverie {
namespace {

struct Source {
  std::string pattern;  ///< as a person reads it: "roofline:<device>"
  std::function<std::shared_ptr<CostModel>(const std::string& argument, double time_limit)> make;

  std::string kind() const { return pattern.substr(0, pattern.find(':')); }
  bool takes_argument() const { return pattern.find(':') != std::string::npos; }
};

int number_of_threads(const std::string& text) {
  int threads = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, threads);
  if (error != std::errc() || stopped != end || threads < 1)
    throw InputError("'{}' is no number of threads; an example is cpu:4", text);
  return threads;
}

std::shared_ptr<CostModel> measured(int threads, double time_limit) {
  MeasureOptions options;
  options.threads = threads;
  options.time_limit = time_limit;
  return make_measured_cost_model(options);
}

const std::vector<Source>& sources() {
  static const std::vector<Source> table = {
      {"roofline:<device>",
       [](const std::string& device, double) { return make_roofline(device_profile(device)); }},
      {"cpu", [](const std::string&, double time_limit) { return measured(1, time_limit); }},
      {"cpu:<threads>",
       [](const std::string& threads, double time_limit) {
         return measured(number_of_threads(threads), time_limit);
       }},
      {"table:<file>", [](const std::string& file, double) { return make_table_cost_model(file); }},
      {"fitted:<file>", [](const std::string& file, double) { return make_fitted_cost_model(file); }},
  };
  return table;
}

[[noreturn]] void refuse(const std::string& name) {
  std::vector<std::string> known;
  for (const Source& source : sources()) known.push_back(source.pattern);
  std::vector<std::string_view> devices;
  for (const DeviceProfile& profile : device_profiles()) devices.push_back(profile.name);
  throw InputError("no cost source '{}'; known are {} with <device> one of {}", name,
                   fmt::join(known, ", "), fmt::join(devices, ", "));
}

}  // namespace

std::shared_ptr<CostModel> make_cost_model(const std::string& name, double time_limit) {
  const size_t colon = name.find(':');
  const std::string kind = name.substr(0, colon);
  const std::string argument = colon == std::string::npos ? "" : name.substr(colon + 1);
  for (const Source& source : sources()) {
    if (source.kind() != kind || source.takes_argument() != (colon != std::string::npos)) continue;
    return with_context(fmt::format("cost source '{}'", name),
                        [&] { return source.make(argument, time_limit); });
  }
  refuse(name);
}

}  // namespace reverie
