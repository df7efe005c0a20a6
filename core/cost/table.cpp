#include "core/cost/table.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/error.h"
#include "core/cost/cached_costs.h"
#include "core/cost/roofline.h"

namespace reverie {
namespace {

std::string op_of(const std::string& signature) { return signature.substr(0, signature.find('(')); }

double ratio(Picoseconds a, Picoseconds b) {
  return static_cast<double>(a.count) / static_cast<double>(std::max<int64_t>(b.count, 1));
}

double median(std::vector<double> values) {
  if (values.empty()) return 1;
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// How far two amounts of work are apart: the sum of the logarithms of their ratios.
double distance(const TableEntry& entry, const Cost& work) {
  const auto apart = [](int64_t a, int64_t b) {
    return std::abs(std::log1p(static_cast<double>(a)) - std::log1p(static_cast<double>(b)));
  };
  return apart(entry.flops, work.flops) + apart(entry.bytes, work.bytes);
}

class RecordedCosts : public CachedCosts {
 public:
  RecordedCosts(std::string path, CostTable table)
      : path_(std::move(path)), table_(std::move(table)), device_(device_profile(table_.profile)) {
    std::vector<double> ratios;
    for (const auto& [signature, entry] : table_.entries) {
      by_op_[op_of(signature)].push_back(&entry);
      ratios.push_back(ratio(entry.runtime, entry.estimate));
    }
    typical_ratio_ = median(std::move(ratios));
  }

  std::string name() const override { return "table:" + path_; }
  CostSource source() const override { return CostSource::kRecorded; }
  bool deterministic() const override { return true; }

 private:
  Picoseconds runtime(const OpSignature& signature, const Cost& work) override {
    const auto exact = table_.entries.find(signature.text());
    if (exact != table_.entries.end()) return exact->second.runtime;
    count_estimate();
    const Picoseconds estimate = roofline_time(device_, signature);
    double scale = typical_ratio_;
    const auto same_op = by_op_.find(signature.op->name);
    if (same_op != by_op_.end()) {
      const auto& all = same_op->second;
      const TableEntry* nearest = *std::min_element(all.begin(), all.end(), [&](auto* a, auto* b) {
        return distance(*a, work) < distance(*b, work);
      });
      scale = ratio(nearest->runtime, nearest->estimate);
    }
    return {static_cast<int64_t>(std::llround(static_cast<double>(estimate.count) * scale))};
  }

  std::string path_;
  CostTable table_;
  DeviceProfile device_;
  std::map<std::string, std::vector<const TableEntry*>> by_op_;
  double typical_ratio_ = 1;
};

}  // namespace

std::shared_ptr<CostModel> make_table_cost_model(const std::string& path) {
  return std::make_shared<RecordedCosts>(path, read_cost_table(path));
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
  std::string text =
      fmt::format("cost table: {} operators\n  device   {}\n  library  {}\n  estimates roofline:{}\n"
                  "  widest 95% interval +-{:.1f}%\n",
                  table.entries.size(), table.device, table.library, table.profile, 100 * widest);
  text += "  by operator:\n";
  for (const auto& [op, sum] : by_op)
    text += fmt::format("    {:<22} {:>5}  {:>12.4f} ms\n", op, sum.first,
                        sum.second.milliseconds());
  text += "  dearest:\n";
  constexpr size_t kShown = 10;
  for (size_t i = 0; i < std::min(kShown, dearest.size()); ++i)
    text += fmt::format("    {:>10.4f} ms  {}\n", dearest[i].first.milliseconds(),
                        dearest[i].second);
  return text;
}

}  // namespace reverie
