#include "core/base/config_sections.h"

namespace reverie {

ConfigSections::ConfigSections(const ConfigSections& other) {
  for (const auto& [name, section] : other.sections_) sections_[name] = section->copy();
}

ConfigSections& ConfigSections::operator=(const ConfigSections& other) {
  return *this = ConfigSections(other);
}

std::string ConfigSections::changed(const std::string& name) const {
  const std::unique_ptr<Section> own = sections_.at(name)->copy();
  const std::unique_ptr<Section> usual = own->at_defaults();
  const ConfigFields given(*own), defaults(*usual);
  for (size_t i = 0; i < given.all().size(); ++i)
    if (given.all()[i].get().items != defaults.all()[i].get().items) return given.all()[i].key;
  return "";
}

}  // namespace reverie
