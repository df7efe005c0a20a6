#include "core/models/builder.h"

namespace reverie::models {
namespace {

/// Szegedy et al. 2015 (Rethinking the Inception Architecture), as torchvision lays it out.
class Inception {
 public:
  explicit Inception(const ModelOptions& options) : b_(options) {}

  Graph build() {
    ValueId x = unit(b_.image(), "Conv2d_1a_3x3", 32, valid(3, 2));
    x = unit(x, "Conv2d_2a_3x3", 32, valid(3));
    x = unit(x, "Conv2d_2b_3x3", 64, same(3));
    x = b_.max_pool(x, valid(3, 2));
    x = unit(x, "Conv2d_3b_1x1", 80, same(1));
    x = unit(x, "Conv2d_4a_3x3", 192, valid(3));
    x = b_.max_pool(x, valid(3, 2));
    x = block_a(x, "Mixed_5b", 32);
    x = block_a(x, "Mixed_5c", 64);
    x = block_a(x, "Mixed_5d", 64);
    x = block_b(x, "Mixed_6a");
    x = block_c(x, "Mixed_6b", 128);
    x = block_c(x, "Mixed_6c", 160);
    x = block_c(x, "Mixed_6d", 160);
    x = block_c(x, "Mixed_6e", 192);
    x = block_d(x, "Mixed_7a");
    x = block_e(x, "Mixed_7b");
    x = block_e(x, "Mixed_7c");
    return b_.finish(b_.gemm(b_.pooled(x), "fc", b_.options().classes));
  }

 private:
  static Window row(int64_t kernel) { return {1, kernel, 1, 0, kernel / 2, 1, false}; }
  static Window column(int64_t kernel) { return {kernel, 1, 1, kernel / 2, 0, 1, false}; }

  ValueId unit(ValueId x, const std::string& name, int64_t outputs, const Window& window) {
    const ValueId filtered = b_.conv(x, name + ".conv", b_.channels(outputs), window);
    return b_.relu(b_.batch_norm(filtered, name + ".bn", 1e-3));
  }

  ValueId pool_branch(ValueId x, const std::string& name, int64_t outputs) {
    return unit(b_.average_pool(x, same(3)), name + ".branch_pool", outputs, same(1));
  }

  ValueId block_a(ValueId x, const std::string& name, int64_t pool) {
    const ValueId one = unit(x, name + ".branch1x1", 64, same(1));
    ValueId five = unit(x, name + ".branch5x5_1", 48, same(1));
    five = unit(five, name + ".branch5x5_2", 64, same(5));
    ValueId three = unit(x, name + ".branch3x3dbl_1", 64, same(1));
    three = unit(three, name + ".branch3x3dbl_2", 96, same(3));
    three = unit(three, name + ".branch3x3dbl_3", 96, same(3));
    return b_.concat({one, five, three, pool_branch(x, name, pool)});
  }

  ValueId block_b(ValueId x, const std::string& name) {
    const ValueId three = unit(x, name + ".branch3x3", 384, valid(3, 2));
    ValueId twice = unit(x, name + ".branch3x3dbl_1", 64, same(1));
    twice = unit(twice, name + ".branch3x3dbl_2", 96, same(3));
    twice = unit(twice, name + ".branch3x3dbl_3", 96, valid(3, 2));
    return b_.concat({three, twice, b_.max_pool(x, valid(3, 2))});
  }

  ValueId block_c(ValueId x, const std::string& name, int64_t inner) {
    const ValueId one = unit(x, name + ".branch1x1", 192, same(1));
    ValueId seven = unit(x, name + ".branch7x7_1", inner, same(1));
    seven = unit(seven, name + ".branch7x7_2", inner, row(7));
    seven = unit(seven, name + ".branch7x7_3", 192, column(7));
    ValueId twice = unit(x, name + ".branch7x7dbl_1", inner, same(1));
    twice = unit(twice, name + ".branch7x7dbl_2", inner, column(7));
    twice = unit(twice, name + ".branch7x7dbl_3", inner, row(7));
    twice = unit(twice, name + ".branch7x7dbl_4", inner, column(7));
    twice = unit(twice, name + ".branch7x7dbl_5", 192, row(7));
    return b_.concat({one, seven, twice, pool_branch(x, name, 192)});
  }

  ValueId block_d(ValueId x, const std::string& name) {
    ValueId three = unit(x, name + ".branch3x3_1", 192, same(1));
    three = unit(three, name + ".branch3x3_2", 320, valid(3, 2));
    ValueId seven = unit(x, name + ".branch7x7x3_1", 192, same(1));
    seven = unit(seven, name + ".branch7x7x3_2", 192, row(7));
    seven = unit(seven, name + ".branch7x7x3_3", 192, column(7));
    seven = unit(seven, name + ".branch7x7x3_4", 192, valid(3, 2));
    return b_.concat({three, seven, b_.max_pool(x, valid(3, 2))});
  }

  ValueId block_e(ValueId x, const std::string& name) {
    const ValueId one = unit(x, name + ".branch1x1", 320, same(1));
    const ValueId three = unit(x, name + ".branch3x3_1", 384, same(1));
    const ValueId three_row = unit(three, name + ".branch3x3_2a", 384, row(3));
    const ValueId three_column = unit(three, name + ".branch3x3_2b", 384, column(3));
    ValueId twice = unit(x, name + ".branch3x3dbl_1", 448, same(1));
    twice = unit(twice, name + ".branch3x3dbl_2", 384, same(3));
    const ValueId twice_row = unit(twice, name + ".branch3x3dbl_3a", 384, row(3));
    const ValueId twice_column = unit(twice, name + ".branch3x3dbl_3b", 384, column(3));
    return b_.concat(
        {one, three_row, three_column, twice_row, twice_column, pool_branch(x, name, 192)});
  }

  ModelBuilder b_;
};

}  // namespace

Graph inception_v3(const ModelOptions& options) { return Inception(options).build(); }

}  // namespace reverie::models
