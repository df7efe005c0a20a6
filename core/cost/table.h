#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/cost/cost_model.h"

namespace reverie {

/// One measured operator.
struct TableEntry {
  Picoseconds runtime;  ///< median
  double spread = 0;    ///< half width of the median's 95% interval, as a share of the median
  int32_t repeats = 0;  ///< samples behind the median
  Picoseconds
      estimate;  ///< of the table's roofline profile, for scaling to signatures not measured
  int64_t flops = 0;
  int64_t bytes = 0;
  int64_t launches = 0;

  bool operator==(const TableEntry&) const = default;
};

/// Version of the file; another one is refused.
inline constexpr int kCostTableSchema = 3;

/// Measured costs of operators on one device. As a file: HDF5 without times, so that equal content
/// is equal bytes, sealed as "reverie cost table" (core/hdf5/seal.h). Data sets, all of one
/// dimension: `device`, `library`, `driver`, `profile` (text, as uint8); `clock_mhz` (int32, the
/// lowest and the highest seen); by ascending signature `signatures` (uint8, all texts one after
/// the other), `signature_bytes` (unsigned integers of 1, 2 or 4 bytes, the size of each text),
/// `runtime_ps`, `estimate_ps`, `flops`, `bytes`, `launches` (int64), `repeats` (int32) and
/// `spread` (float64).
struct CostTable {
  std::string device;   ///< "AMD EPYC, 2 threads"
  std::string library;  ///< "oneDNN 2.6.3, avx512_core"
  std::string driver;   ///< of a device; empty for processors
  std::string profile;  ///< the roofline device of the estimates: "cpu"
  /// Clocks of the device seen while measuring; 0 where unknown.
  int32_t lowest_clock_mhz = 0, highest_clock_mhz = 0;
  std::map<std::string, TableEntry> entries = {};  ///< by OpSignature::text()

  void saw_clock(int32_t mhz);
  /// Takes in what another table of the same device knows; what both know stays.
  void join(CostTable other);
  bool operator==(const CostTable&) const = default;
};

/// InputError with one line when the file is missing, is no cost table, of another version or
/// damaged.
CostTable read_cost_table(const std::string& path);
/// Written aside and renamed.
void write_cost_table(const std::string& path, const CostTable& table);
/// Whether the file begins as a cost table; false for missing files too.
bool is_cost_table(const std::string& path);

/// "Relu" of "Relu(float32 8)".
std::string op_of(const std::string& signature);

/// For `reverie inspect`: device, library, counts by operator, the dearest operators, spread.
std::string describe(const CostTable& table);

/// "table:FILE"; recorded, deterministic. A signature that was not measured gets, and counts as, a
/// scaled estimate (core/cost/scaled_estimates.h). It fuses where the table has fused operators:
/// what was measured before there were such gives the costs that it gave.
std::shared_ptr<CostModel> make_table_cost_model(const std::string& path);

}  // namespace reverie
