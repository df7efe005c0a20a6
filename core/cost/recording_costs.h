#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "core/cost/cost_model.h"

namespace reverie {

/// Another source of costs that remembers what it was asked.
class RecordingCosts : public CostModel {
 public:
  explicit RecordingCosts(std::shared_ptr<CostModel> inner) : inner_(std::move(inner)) {}

  std::string name() const override { return inner_->name(); }
  CostSource source() const override { return inner_->source(); }
  bool deterministic() const override { return inner_->deterministic(); }
  Counters counters() const override { return inner_->counters(); }
  bool fuses() const override { return inner_->fuses(); }
  Cost cost(const OpSignature& signature) override;

  /// Every signature whose work starts a kernel, by its text.
  std::map<std::string, OpSignature> signatures() const;

 private:
  std::shared_ptr<CostModel> inner_;
  mutable std::mutex mutex_;
  std::unordered_multimap<uint64_t, OpSignature> seen_;  // by hash
};

}  // namespace reverie
