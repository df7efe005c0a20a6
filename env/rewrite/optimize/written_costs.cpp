#include "env/rewrite/optimize/written_costs.h"

#include <atomic>
#include <utility>

#include "core/cost/signature_cache.h"
#include "core/cost/single_operator.h"
#include "core/onnx/opset.h"
#include "core/onnx/spell_out.h"

namespace reverie {
namespace {

class WrittenCosts : public CostModel {
 public:
  WrittenCosts(std::shared_ptr<CostModel> costs, int opset)
      : costs_(std::move(costs)), opset_(opset) {}

  std::string name() const override { return costs_->name(); }
  CostSource source() const override { return costs_->source(); }
  bool deterministic() const override { return costs_->deterministic(); }
  bool fuses() const override { return costs_->fuses(); }
  Counters counters() const override {
    Counters counters = costs_->counters();
    counters.lookups = lookups_.load();
    return counters;
  }

  Cost cost(const OpSignature& signature) override {
    lookups_.fetch_add(1, std::memory_order_relaxed);
    return cache_.find_or(signature, [&] {
      if (signature.op == &opaque_op()) return costs_->cost(signature);
      Graph graph = single_operator(signature);
      return proto::replace_newer(graph, {opset_}) ? running_cost(*costs_, graph)
                                                   : costs_->cost(signature);
    });
  }

 private:
  std::shared_ptr<CostModel> costs_;
  int opset_;
  SignatureCache cache_;
  std::atomic<int64_t> lookups_{0};
};

}  // namespace

int newest_opset(const ImportedModel& model) {
  return proto::opset_range(model.graph, model.info).newest;
}

std::shared_ptr<CostModel> costs_as_written(std::shared_ptr<CostModel> costs, int newest_opset) {
  if (newest_opset >= proto::kNewestInLibrary) return costs;
  return std::make_shared<WrittenCosts>(std::move(costs), newest_opset);
}

}  // namespace reverie
