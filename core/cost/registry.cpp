#include <fmt/ranges.h>

#include <cstdio>
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

std::shared_ptr<CostModel> measured(const std::string& machine, double time_limit) {
  const MeasureOptions options{.machine = make_machine(machine), .time_limit = time_limit};
  if (options.directory.empty())
    fmt::print(stderr,
               "measured costs are not kept: there is no home folder that can be written; "
               "REVERIE_CACHE names "
               "another\n");
  return make_measured_cost_model(options);
}

/// Beside the machines.
const std::vector<Source>& sources() {
  static const std::vector<Source> table = {
      {"roofline:<device>",
       [](const std::string& device, double) { return make_roofline(device_profile(device)); }},
      {"table:<file>", [](const std::string& file, double) { return make_table_cost_model(file); }},
      {"fitted:<file>",
       [](const std::string& file, double) { return make_fitted_cost_model(file); }},
  };
  return table;
}

[[noreturn]] void refuse(const std::string& name) {
  std::vector<std::string_view> devices;
  for (const DeviceProfile& profile : device_profiles()) devices.push_back(profile.name);
  throw InputError("no cost source '{}'; known are {}, with <device> one of {}", name,
                   known_cost_sources(), fmt::join(devices, ", "));
}

}  // namespace

std::string known_cost_sources() {
  std::vector<std::string> patterns;
  for (const Source& source : sources()) patterns.push_back(source.pattern);
  return fmt::format("{}, {}", fmt::join(patterns, ", "), known_machines());
}

std::shared_ptr<CostModel> make_cost_model(const std::string& name, double time_limit) {
  const size_t colon = name.find(':');
  const std::string kind = name.substr(0, colon);
  const std::string argument = colon == std::string::npos ? "" : name.substr(colon + 1);
  if (is_machine(name))
    return with_context(fmt::format("cost source '{}'", name),
                        [&] { return measured(name, time_limit); });
  for (const Source& source : sources()) {
    if (source.kind() != kind || source.takes_argument() != (colon != std::string::npos)) continue;
    return with_context(fmt::format("cost source '{}'", name),
                        [&] { return source.make(argument, time_limit); });
  }
  refuse(name);
}

}  // namespace reverie
