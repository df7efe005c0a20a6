#include "core/base/config.h"

#include "env/registry/registry.h"
#include "tests/fuzz/target.h"

/// What is read is dumped and read again.
void reverie::fuzz::read_config(std::string_view bytes) {
  EnvironmentConfig config, again;
  ConfigFields(config).load_text(std::string(bytes), "config.yaml");
  ConfigFields(again).load_text(dump_config(config), "again.yaml");
}
