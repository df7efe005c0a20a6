#include "core/exec/device/device.h"

#include <array>
#include <utility>

#include "core/base/error.h"

namespace reverie::device {
namespace {

constexpr std::array<std::pair<Precision, std::string_view>, 4> kNames = {
    {{Precision::kFloat32, "fp32"},
     {Precision::kTf32, "tf32"},
     {Precision::kFloat16, "fp16"},
     {Precision::kBFloat16, "bf16"}}};

}  // namespace

std::string_view name_of(Precision precision) {
  return kNames[static_cast<size_t>(precision)].second;
}

Precision precision_named(std::string_view name) {
  for (const auto& [precision, known] : kNames)
    if (known == name) return precision;
  throw InputError("no precision '{}'; known are fp32, tf32, fp16 and bf16", name);
}

DType storage_of(Precision precision) {
  if (precision == Precision::kFloat16) return DType::kFloat16;
  return precision == Precision::kBFloat16 ? DType::kBFloat16 : DType::kFloat32;
}

}  // namespace reverie::device
