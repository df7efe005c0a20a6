#include <vector>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/cost/table.h"
#include "core/hdf5/hdf5.h"
#include "core/hdf5/seal.h"

namespace reverie {
namespace {

constexpr hdf5::FileKind kTableFile = {.magic = "reverie cost table",
                                       .name = "cost table",
                                       .schema = kCostTableSchema,
                                       .renew = "remove it and measure again",
                                       .repair = "remove it and measure again"};

/// The table as columns, which is how it lies in the file.
struct Columns {
  std::vector<int64_t> runtime, estimate, flops, bytes, launches;
  std::vector<int32_t> repeats;
  std::vector<double> spread;

  template <class Visit>
  void visit(Visit&& visit) {
    visit("runtime_ps", runtime);
    visit("estimate_ps", estimate);
    visit("flops", flops);
    visit("bytes", bytes);
    visit("launches", launches);
    visit("repeats", repeats);
    visit("spread", spread);
  }
};

void write(const CostTable& table, hdf5::Writer& writer) {
  std::vector<std::string> signatures;
  Columns columns;
  for (const auto& [signature, entry] : table.entries) {
    signatures.push_back(signature);
    columns.runtime.push_back(entry.runtime.count);
    columns.estimate.push_back(entry.estimate.count);
    columns.flops.push_back(entry.flops);
    columns.bytes.push_back(entry.bytes);
    columns.launches.push_back(entry.launches);
    columns.repeats.push_back(entry.repeats);
    columns.spread.push_back(entry.spread);
  }
  writer.text("device", table.device);
  writer.text("library", table.library);
  writer.text("driver", table.driver);
  writer.text("profile", table.profile);
  writer.array("clock_mhz", std::vector<int32_t>{table.lowest_clock_mhz, table.highest_clock_mhz});
  writer.texts("signatures", "signature_bytes", signatures);
  columns.visit([&](const char* name, auto& column) { writer.array(name, column); });
}

CostTable read(const hdf5::Reader& reader) {
  CostTable table{.device = reader.text("device"),
                  .library = reader.text("library"),
                  .driver = reader.text("driver"),
                  .profile = reader.text("profile")};
  const auto clocks = reader.array<int32_t>("clock_mhz", 2);
  table.lowest_clock_mhz = clocks[0];
  table.highest_clock_mhz = clocks[1];
  const std::vector<std::string> signatures = reader.texts("signatures", "signature_bytes");
  Columns columns;
  columns.visit([&]<class T>(const char* name, std::vector<T>& column) {
    column = reader.array<T>(name, signatures.size());
  });
  for (size_t i = 0; i < signatures.size(); ++i)
    table.entries[signatures[i]] = {.runtime = {columns.runtime[i]},
                                    .spread = columns.spread[i],
                                    .repeats = columns.repeats[i],
                                    .estimate = {columns.estimate[i]},
                                    .flops = columns.flops[i],
                                    .bytes = columns.bytes[i],
                                    .launches = columns.launches[i]};
  return table;
}

}  // namespace

CostTable read_cost_table(const std::string& path) {
  const std::string bytes = read_file(path);
  return read(hdf5::Reader(hdf5::unseal(kTableFile, bytes, path).image, path));
}

void write_cost_table(const std::string& path, const CostTable& table) {
  hdf5::Writer writer;
  write(table, writer);
  write_file(path, hdf5::sealed(kTableFile, writer.finish()));
}

bool is_cost_table(const std::string& path) { return hdf5::begins_as(kTableFile, path); }

}  // namespace reverie
