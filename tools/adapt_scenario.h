#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "env/adapt/adapt_config.h"
#include "tools/common.h"

namespace reverie {

/// The command line of `adapt`.
struct AdaptOptions {
  CommonOptions common;
  std::string source;  ///< a network or a table
  std::string data, budget;
  std::string method, policy;   ///< who decides: one of them
  std::optional<int> episodes;  ///< that a method learns from, or that a policy tries
  std::string table;            ///< to record into instead
  int runs = 1;
  bool baseline = true;  ///< train without a change, too, to compare
};

/// Settings of `adapt`.
struct AdaptCommandConfig {
  uint64_t seed = 1;
  AdaptConfig adapt;

  template <class V>
  void fields(V& v) {
    v.field("seed", seed, "Seed of all randomness");
    v.section("adapt", adapt, "The scenario");
  }
};

/// A policy's settings or the defaults, then --config, --set, --seed, --data and --budget.
AdaptCommandConfig resolve_adapt(const AdaptOptions& options);

/// The network or table.
AdaptStart adapt_start(const AdaptOptions& options, const AdaptCommandConfig& config);

}  // namespace reverie
