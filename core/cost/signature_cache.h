#pragma once

#include <array>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <unordered_map>

#include "core/cost/cost_model.h"

namespace reverie {

/// Costs by signature for many threads: shards by hash, each behind its own lock. A hit is
/// confirmed by comparing signatures.
class SignatureCache {
 public:
  /// The cost of `signature`; on a miss what `compute()` returns, which is kept. Two threads that
  /// miss at once may both compute; the first result stays.
  template <typename Compute>
  Cost find_or(const OpSignature& signature, Compute&& compute) {
    const uint64_t hash = signature.hash();
    Shard& shard = shards_[hash % kShards];
    if (const std::optional<Cost> known = find(shard, hash, signature)) return *known;
    const Cost cost = compute();
    return insert(shard, hash, signature, cost);
  }

 private:
  static constexpr size_t kShards = 64;

  struct Entry {
    OpSignature signature;
    Cost cost;
  };
  struct alignas(64) Shard {
    mutable std::shared_mutex mutex;
    std::unordered_multimap<uint64_t, Entry> entries;
  };

  static const Entry* lookup(const Shard& shard, uint64_t hash, const OpSignature& signature);
  static std::optional<Cost> find(const Shard& shard, uint64_t hash, const OpSignature& signature);
  static Cost insert(Shard& shard, uint64_t hash, const OpSignature& signature, const Cost& cost);

  std::array<Shard, kShards> shards_;
};

}  // namespace reverie
