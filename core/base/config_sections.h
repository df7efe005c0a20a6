#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "core/base/config.h"

namespace reverie {

/// Sections of a configuration that are known at run time alone, such as one for each kind that a
/// registry holds. Each is a struct that lists its fields (core/base/config.h). Copies are
/// independent.
class ConfigSections {
 public:
  ConfigSections() = default;
  ConfigSections(const ConfigSections& other);
  ConfigSections& operator=(const ConfigSections& other);
  ConfigSections(ConfigSections&&) = default;
  ConfigSections& operator=(ConfigSections&&) = default;

  /// At its defaults; nothing where there is a section of this name.
  template <class C>
  void add(const std::string& name, const std::string& help) {
    if (!sections_.contains(name)) sections_[name] = std::make_unique<Of<C>>(help);
  }
  /// The section, which is there and is a C.
  template <class C>
  C& of(const std::string& name) {
    return static_cast<Of<C>&>(*sections_.at(name)).config;
  }
  template <class C>
  const C& of(const std::string& name) const {
    return static_cast<const Of<C>&>(*sections_.at(name)).config;
  }

  /// The first field of a section that is not at its default; empty: all are.
  std::string changed(const std::string& name) const;

  template <class V>
  void fields(V& v) {
    for (auto& [name, section] : sections_) v.section(name, *section, section->help);
  }

 private:
  struct Section {
    explicit Section(std::string text) : help(std::move(text)) {}
    virtual ~Section() = default;
    virtual void fields(ConfigFields& v) = 0;
    virtual std::unique_ptr<Section> copy() const = 0;
    virtual std::unique_ptr<Section> at_defaults() const = 0;
    std::string help;
  };
  template <class C>
  struct Of : Section {
    using Section::Section;
    void fields(ConfigFields& v) override { config.fields(v); }
    std::unique_ptr<Section> copy() const override { return std::make_unique<Of>(*this); }
    std::unique_ptr<Section> at_defaults() const override {
      return std::make_unique<Of>(this->help);
    }
    C config;
  };

  std::map<std::string, std::unique_ptr<Section>> sections_;
};

}  // namespace reverie
