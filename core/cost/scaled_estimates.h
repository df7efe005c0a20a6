#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/cost/roofline.h"
#include "core/cost/table.h"

namespace reverie {

/// Roofline estimates, scaled by how far those of measured operators were off: by the ratio of time
/// to estimate of the nearest one of the same operator (by the ratio of their FLOPs and bytes), or
/// where the operator was never measured, by the median ratio of all.
class ScaledEstimates {
 public:
  explicit ScaledEstimates(const DeviceProfile& device) : device_(device) {}

  /// `signature` is that of a table: OpSignature::text().
  void add(const std::string& signature, const TableEntry& entry);
  Picoseconds of(const OpSignature& signature, const Cost& work) const;

 private:
  double typical_ratio() const;

  DeviceProfile device_;
  std::map<std::string, std::vector<TableEntry>> by_op_;
};

}  // namespace reverie
