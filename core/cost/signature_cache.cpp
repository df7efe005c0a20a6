#include "core/cost/signature_cache.h"

namespace reverie {

const SignatureCache::Entry* SignatureCache::lookup(const Shard& shard, uint64_t hash,
                                                    const OpSignature& signature) {
  const auto [first, last] = shard.entries.equal_range(hash);
  for (auto at = first; at != last; ++at)
    if (at->second.signature == signature) return &at->second;
  return nullptr;
}

std::optional<Cost> SignatureCache::find(const Shard& shard, uint64_t hash,
                                         const OpSignature& signature) {
  const std::shared_lock lock(shard.mutex);
  const Entry* entry = lookup(shard, hash, signature);
  return entry == nullptr ? std::nullopt : std::optional(entry->cost);
}

Cost SignatureCache::insert(Shard& shard, uint64_t hash, const OpSignature& signature,
                            const Cost& cost) {
  const std::unique_lock lock(shard.mutex);
  if (const Entry* entry = lookup(shard, hash, signature)) return entry->cost;
  shard.entries.emplace(hash, Entry{signature, cost});
  return cost;
}

}  // namespace reverie
