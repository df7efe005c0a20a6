#include "core/cost/table.h"

#include <algorithm>
#include <vector>

#include "core/base/error.h"
#include "core/base/words.h"
#include "core/cost/cached_costs.h"
#include "core/cost/roofline.h"
#include "core/cost/scaled_estimates.h"

namespace reverie {
namespace {

class RecordedCosts : public CachedCosts {
 public:
  RecordedCosts(std::string path, CostTable table)
      : path_(std::move(path)),
        table_(std::move(table)),
        estimates_(device_profile(table_.profile)) {
    for (const auto& [signature, entry] : table_.entries) {
      estimates_.add(signature, entry);
      const OpSchema* op = find_op(op_of(signature));
      has_fused_ = has_fused_ || (op != nullptr && op->fused);
    }
  }

  std::string name() const override { return "table:" + path_; }
  CostSource source() const override { return CostSource::kRecorded; }
  bool deterministic() const override { return true; }
  bool fuses() const override { return has_fused_; }

 private:
  Time time(const OpSignature& signature, const Cost& work) override {
    const auto exact = table_.entries.find(signature.text());
    if (exact != table_.entries.end()) return {exact->second.runtime};
    return {estimates_.of(signature, work), true};
  }

  std::string path_;
  CostTable table_;
  ScaledEstimates estimates_;
  bool has_fused_ = false;
};

}  // namespace

std::shared_ptr<CostModel> make_table_cost_model(const std::string& path) {
  return std::make_shared<RecordedCosts>(path, read_cost_table(path));
}

std::string op_of(const std::string& signature) { return signature.substr(0, signature.find('(')); }

void CostTable::saw_clock(int32_t mhz) {
  if (mhz <= 0) return;
  lowest_clock_mhz = lowest_clock_mhz == 0 ? mhz : std::min(lowest_clock_mhz, mhz);
  highest_clock_mhz = std::max(highest_clock_mhz, mhz);
}

void CostTable::join(CostTable other) {
  entries.merge(other.entries);
  saw_clock(other.lowest_clock_mhz);
  saw_clock(other.highest_clock_mhz);
}

std::string describe(const CostTable& table) {
  std::map<std::string, std::pair<int, Picoseconds>> by_op;
  std::vector<std::pair<Picoseconds, std::string>> dearest;
  double widest = 0;
  for (const auto& [signature, entry] : table.entries) {
    auto& [count, total] = by_op[op_of(signature)];
    ++count;
    total += entry.runtime;
    dearest.emplace_back(entry.runtime, signature);
    widest = std::max(widest, entry.spread);
  }
  std::sort(dearest.rbegin(), dearest.rend());
  std::string text = fmt::format(
      "cost table: {}\n  device   {}\n  library  {}\n  estimates roofline:{}\n"
      "  widest 95% interval +-{:.1f}%\n",
      counted(table.entries.size(), "operator"), table.device, table.library, table.profile,
      100 * widest);
  if (!table.driver.empty()) text += fmt::format("  driver   {}\n", table.driver);
  if (table.highest_clock_mhz > 0)
    text +=
        fmt::format("  clock    {} to {} MHz\n", table.lowest_clock_mhz, table.highest_clock_mhz);
  text += "  by operator:\n";
  for (const auto& [op, sum] : by_op)
    text +=
        fmt::format("    {:<22} {:>5}  {:>12.4f} ms\n", op, sum.first, sum.second.milliseconds());
  text += "  dearest:\n";
  constexpr size_t kShown = 10;
  for (size_t i = 0; i < std::min(kShown, dearest.size()); ++i)
    text +=
        fmt::format("    {:>10.4f} ms  {}\n", dearest[i].first.milliseconds(), dearest[i].second);
  return text;
}

}  // namespace reverie
