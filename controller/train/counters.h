#pragma once

#include <string>
#include <utility>

#include "worldmodel/network/checkpoint.h"

namespace reverie {

/// The fields of EnvCounters by name.
inline constexpr std::pair<const char*, int64_t EnvCounters::*> kCounterFields[] = {
    {"resets", &EnvCounters::resets},
    {"steps", &EnvCounters::steps},
    {"cost_lookups", &EnvCounters::cost_lookups},
    {"measurements", &EnvCounters::measurements}};

/// Keeps real work in a checkpoint's counters, each name behind `prefix`.
inline void put_counters(Checkpoint& checkpoint, const std::string& prefix,
                         const EnvCounters& counters) {
  for (const auto& [name, field] : kCounterFields)
    checkpoint.counters[prefix + name] = counters.*field;
}

inline EnvCounters get_counters(const Checkpoint& checkpoint, const std::string& prefix) {
  EnvCounters counters;
  for (const auto& [name, field] : kCounterFields)
    counters.*field = checkpoint.counters.at(prefix + name);
  return counters;
}

}  // namespace reverie
