#pragma once

#include <atomic>

#include "core/cost/signature_cache.h"

namespace reverie {

/// A cost model that asks for the time of each signature once; views take none.
class CachedCosts : public CostModel {
 public:
  Cost cost(const OpSignature& signature) final;
  Counters counters() const final;

 protected:
  struct Time {
    Picoseconds runtime;
    bool estimated = false;  ///< as Cost::estimated means it
  };
  /// Of an operator that starts kernels. Several threads may call it at once, also for one
  /// signature, of which the first result stays.
  virtual Time time(const OpSignature& signature, const Cost& work) = 0;

  void count_measurement() { ++measurements_; }

 private:
  SignatureCache cache_;
  std::atomic<int64_t> lookups_{0}, measurements_{0}, estimates_{0}, operators_{0};
};

}  // namespace reverie
