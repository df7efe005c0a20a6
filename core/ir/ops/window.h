#pragma once

#include <span>

#include "core/ir/ops/common.h"

/// What operators share that slide a window over images: batch, channels and one to three extents.
namespace reverie::ops {

/// Number of extents besides batch and channels. InputError unless it is one to three.
int spatial_rank(const TensorType& x);
/// Strides and dilations of one, pads of nought, unless given.
void fill_in_window(Attributes& attributes, const TensorType& x, bool dilations);
/// Positions of a window along every spatial axis (ONNX operator specification, Conv and MaxPool:
/// floor, or ceil with ceil_mode, of (in + pads - ((kernel - 1) * dilation + 1)) / stride, plus 1).
/// InputError where it does not fit.
Shape window_positions(const OpContext& node, std::span<const int64_t> kernel, bool ceil_mode);
/// The shape of images with the batch of `x`, of so many channels and these extents.
Shape image_of(const TensorType& x, int64_t channels, const Shape& extents);

/// The shape of input 0 convolved with such filters. InputError where they do not fit.
Shape convolution_shape(const OpContext& node, const Shape& filter);

}  // namespace reverie::ops
