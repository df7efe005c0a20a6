#include "tools/python/module/settings.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "core/base/error.h"

namespace reverie::python {
namespace {

/// As it is given; empty for a key of another section.
std::string given_name(const ConfigField& field, const std::string& section) {
  if (section.empty() || field.key.find('.') == std::string::npos) return field.key;
  return field.key.starts_with(section + ".") ? field.key.substr(section.size() + 1) : "";
}

[[noreturn]] void unknown(const std::string& key, const std::vector<std::string>& known) {
  if (const auto nearest = nearest_word(key, known))
    throw InputError("unknown setting '{}'; did you mean '{}'?", key, *nearest);
  throw InputError("unknown setting '{}'; known are {}", key, fmt::join(known, ", "));
}

ConfigText text_of(const Setting& setting) {
  if (const auto* text = std::get_if<std::string>(&setting.second)) return {false, {*text}};
  return {true, std::get<std::vector<std::string>>(setting.second)};
}

}  // namespace

void apply_settings(ConfigFields& fields, const std::string& section,
                    const std::vector<Setting>& settings) {
  std::vector<std::string> known;
  for (const ConfigField& field : fields.all())
    if (const std::string name = given_name(field, section); !name.empty()) known.push_back(name);
  for (const Setting& setting : settings) {
    const auto field = std::ranges::find_if(fields.all(), [&](const ConfigField& one) {
      return given_name(one, section) == setting.first;
    });
    if (field == fields.all().end()) unknown(setting.first, known);
    with_context(setting.first, [&] { field->set(text_of(setting)); });
  }
}

std::vector<KnownSetting> known_settings(const ConfigFields& fields, const std::string& section) {
  std::vector<KnownSetting> known;
  for (const ConfigField& field : fields.all()) {
    const std::string name = given_name(field, section);
    if (!name.empty())
      known.push_back(
          {name, field.type, fmt::format("{}", fmt::join(field.get().items, ",")), field.help});
  }
  return known;
}

}  // namespace reverie::python
