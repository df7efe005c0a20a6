#include "core/base/config.h"

#include <functional>
#include <unordered_set>

#include "env/kind.h"
#include "tests/fuzz/target.h"

/// What is read is dumped and read again, if no input before gave the same.
void reverie::fuzz::read_config(std::string_view bytes) {
  EnvironmentConfig config, again;
  ConfigFields fields(config);
  fields.load_text(std::string(bytes), "config.yaml");
  const std::string dump = fields.dump();
  static std::unordered_set<size_t> seen;
  if (seen.insert(std::hash<std::string>()(dump)).second)
    ConfigFields(again).load_text(dump, "again.yaml");
}
