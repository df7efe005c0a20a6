#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/config.h"

namespace reverie::python {

/// A key and a value, or a list, as text.
using Setting = std::pair<std::string, std::variant<std::string, std::vector<std::string>>>;

/// Sets keys; `section` stands before each that is not among the fields without it. InputError that
/// names the key as it was given.
void apply_settings(ConfigFields& fields, const std::string& section,
                    const std::vector<Setting>& settings);

/// A key as it is given, its type, its value and what it means.
struct KnownSetting {
  std::string key, type, value, help;
};
/// Those of a section, and those of no section.
std::vector<KnownSetting> known_settings(const ConfigFields& fields, const std::string& section);

}  // namespace reverie::python
