#include "core/cost/table.h"
#include "core/hdf5/seal.h"
#include "tests/fuzz/layouts.h"
#include "tests/fuzz/target.h"

namespace reverie::fuzz {

Layout cost_table_layout() {
  using enum hdf5::Element;
  static constexpr DataSet kDataSets[] = {{"device", kUint8},
                                          {"library", kUint8},
                                          {"driver", kUint8},
                                          {"profile", kUint8},
                                          {"clock_mhz", kInt32},
                                          {"signatures", kUint8},
                                          {"signature_bytes", kUint32, true},
                                          {"runtime_ps", kInt64},
                                          {"estimate_ps", kInt64},
                                          {"flops", kInt64},
                                          {"bytes", kInt64},
                                          {"launches", kInt64},
                                          {"repeats", kInt32},
                                          {"spread", kFloat64}};
  return {{}, kDataSets};
}

void read_costs(std::string_view bytes) {
  hdf5::FileKind kind;
  kind.magic = "reverie cost table";
  kind.schema = kCostTableSchema;
  const std::string image = image_of(cost_table_layout(), bytes);
  describe(read_cost_table(as_file("costs.h5", hdf5::sealed(kind, image))));
}

}  // namespace reverie::fuzz
