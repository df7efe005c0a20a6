#include "core/exec/reference/indexing.h"

#include <cstring>

#include "core/base/error.h"

namespace reverie::reference {
namespace {

/// Drops axes of extent one and merges neighbours along which every operand advances evenly.
void merge_axes(Shape& shape, std::vector<Strides>& operands) {
  Shape merged;
  std::vector<Strides> strides(operands.size());
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 1) continue;
    bool joins = !merged.empty();
    for (size_t i = 0; joins && i < operands.size(); ++i)
      joins = strides[i].back() == operands[i][axis] * shape[axis];
    if (joins) {
      merged.back() *= shape[axis];
    } else {
      merged.push_back(shape[axis]);
    }
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!joins) strides[i].push_back(0);
      strides[i].back() = operands[i][axis];
    }
  }
  shape = std::move(merged);
  operands = std::move(strides);
}

/// Steps `index` on by one in row-major order over the first `rank` axes; `moved(axis, by)` is told
/// of every change. False after the last.
template <typename Moved>
bool advance(std::vector<int64_t>& index, const Shape& shape, size_t rank, Moved&& moved) {
  for (size_t axis = rank; axis-- > 0;) {
    if (++index[axis] < shape[axis]) {
      moved(axis, index[axis] - 1, index[axis]);
      return true;
    }
    moved(axis, shape[axis] - 1, 0);
    index[axis] = 0;
  }
  return false;
}

template <typename Word>
void copy_words(const std::byte* source_bytes, std::byte* target_bytes,
                const std::vector<AxisOffsets>& axes, const std::byte* fill_bytes) {
  const auto* source = reinterpret_cast<const Word*>(source_bytes);
  auto* target = reinterpret_cast<Word*>(target_bytes);
  Word fill{};
  if (fill_bytes != nullptr) std::memcpy(&fill, fill_bytes, sizeof(Word));
  const AxisOffsets& inner = axes.back();
  Shape outer;
  int64_t offset = 0;
  int outside = 0;
  for (size_t axis = 0; axis + 1 < axes.size(); ++axis) {
    outer.push_back(static_cast<int64_t>(axes[axis].size()));
    offset += axes[axis][0];
    outside += axes[axis][0] < 0;
  }
  const auto moved = [&](size_t axis, int64_t from, int64_t to) {
    const int64_t was = axes[axis][static_cast<size_t>(from)];
    const int64_t is = axes[axis][static_cast<size_t>(to)];
    offset += is - was;
    outside += (is < 0) - (was < 0);
  };
  std::vector<int64_t> index(outer.size(), 0);
  do {
    for (const int64_t step : inner)
      *target++ = outside > 0 || step < 0 ? fill : source[offset + step];
  } while (advance(index, outer, outer.size(), moved));
}

}  // namespace

Strides contiguous_strides(const Shape& shape) {
  Strides strides(shape.size());
  int64_t stride = 1;
  for (size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= shape[axis];
  }
  return strides;
}

Strides broadcast_strides(const Shape& from, const Shape& to) {
  REVERIE_CHECK_LE(from.size(), to.size());
  const Strides own = contiguous_strides(from);
  Strides strides(to.size(), 0);
  const size_t lead = to.size() - from.size();
  for (size_t axis = 0; axis < from.size(); ++axis)
    if (from[axis] != 1) strides[lead + axis] = own[axis];
  return strides;
}

void for_each_run(const Shape& shape, std::vector<Strides> operands,
                  const std::function<void(const Run&)>& visit) {
  if (element_count(shape) == 0) return;
  Shape extents = shape;
  merge_axes(extents, operands);
  if (extents.empty()) {
    extents.push_back(1);
    for (Strides& strides : operands) strides.push_back(0);
  }
  const size_t outer = extents.size() - 1;
  std::vector<int64_t> offsets(operands.size(), 0);
  std::vector<int64_t> steps;
  for (const Strides& strides : operands) steps.push_back(strides.back());
  std::vector<int64_t> index(outer, 0);
  Run run{0, extents.back(), offsets.data(), steps.data()};
  const auto moved = [&](size_t axis, int64_t from, int64_t to) {
    for (size_t i = 0; i < operands.size(); ++i) offsets[i] += (to - from) * operands[i][axis];
  };
  do {
    visit(run);
    run.first += run.count;
  } while (advance(index, extents, outer, moved));
}

void copy_mapped(std::span<const std::byte> source, std::span<std::byte> target, int64_t element,
                 const std::vector<AxisOffsets>& axes, const std::byte* fill) {
  if (target.empty()) return;
  const std::vector<AxisOffsets> scalar = {{0}};
  const std::vector<AxisOffsets>& used = axes.empty() ? scalar : axes;
  switch (element) {
    case 1:
      return copy_words<uint8_t>(source.data(), target.data(), used, fill);
    case 2:
      return copy_words<uint16_t>(source.data(), target.data(), used, fill);
    case 4:
      return copy_words<uint32_t>(source.data(), target.data(), used, fill);
    case 8:
      return copy_words<uint64_t>(source.data(), target.data(), used, fill);
    default:
      REVERIE_CHECK(false, "elements of {} bytes", element);
  }
}

std::vector<double> broadcast_to(const Tensor& value, const Shape& shape) {
  std::vector<double> result(static_cast<size_t>(element_count(shape)));
  const auto in = value.data<double>();
  for_each_run(shape, {broadcast_strides(value.shape(), shape)}, [&](const Run& run) {
    for (int64_t i = 0; i < run.count; ++i)
      result[static_cast<size_t>(run.first + i)] =
          in[static_cast<size_t>(run.offsets[0] + i * run.steps[0])];
  });
  return result;
}

}  // namespace reverie::reference
