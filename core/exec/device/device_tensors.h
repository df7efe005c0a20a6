#pragma once

#include "core/exec/device/device.h"
#include "core/ir/tensor.h"

namespace reverie::device {

/// float32 in the type that the device stores it in.
inline TensorType stored(TensorType type, const Device& device) {
  if (type.dtype == DType::kFloat32) type.dtype = storage_of(device.precision());
  return type;
}

/// To memory of the device, as it stores the type.
inline void upload(Device& device, const Tensor& tensor, std::byte* to) {
  device.upload(to, tensor.cast(stored(tensor.type(), device).dtype).bytes());
}

/// A tensor of this type that lies in memory of the device as it stores it.
inline Tensor downloaded(Device& device, const TensorType& type, const std::byte* from) {
  Tensor tensor(stored(type, device));
  device.download(tensor.bytes(), from);
  return tensor.cast(type.dtype);
}

}  // namespace reverie::device
