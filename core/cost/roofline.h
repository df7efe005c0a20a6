#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/cost/cost_model.h"

namespace reverie {

/// The rate of a convolution with several groups as a share of that with one.
struct Grouping {
  double channel_tile = 32;  ///< channels of a group that fill a kernel's tile
  /// Below so many a generic kernel runs, whose tile is 32 channels whatever the other is.
  double least_channels = 1;
  double depthwise_share = 1.0 / 32;  ///< with one channel a group, of the rate of one group
};

/// What the roofline knows of a device. The numbers of each device, with their sources:
///
/// | device | peak TFLOP/s | bandwidth GB/s | reached | fp32 lanes | source
/// | | ------ | ------------ | -------------- | ------- | ---------- |
/// ----------------------------- | | t4     |  8.1         |  320           | 0.69    |  2560
/// | NVIDIA T4 data sheet, 2019    | | v100   | 15.7         |  900           | 0.83    |  5120
/// | NVIDIA V100 data sheet, 2020  | | a100   | 19.5         | 2039           | 0.85    |  6912
/// | NVIDIA A100 80GB SXM, 2021    | | h100   | 67           | 3350           | 0.85    | 16896
/// | NVIDIA H100 SXM, 2023         | | h200   | 67           | 4800           | 0.85    | 16896
/// | NVIDIA H200 SXM, 2024         | | cpu    |  0.448       |   40           | 0.75    |    64
/// | two cores, see below          |
///
/// `reached`, the share of the nominal bandwidth that a kernel sees, was measured by Jia et al.
/// (arXiv:1903.07486, table 3.1) for t4 (220 of 320) and v100 (750 of 900); 0.85 is taken for the
/// later ones. The CPU stands for two cores of a server processor with AVX-512: 2 cores x 2 FMA
/// units x 16 lanes x 2 x 3.5 GHz, and two channels of DDR5-5600 (90 GB/s) shared with
/// neighbours, of which 40 GB/s are taken.
///
/// Per launch: 3.8 us on GPUs, which is what a short kernel takes when launches overlap (Gray,
/// "Getting Started with CUDA Graphs", NVIDIA 2019); 2 us on a CPU, a primitive with one fork and
/// join of its threads.
struct DeviceProfile {
  std::string_view name;
  double peak_flops;       ///< fp32 without matrix units, FLOP/s
  double bandwidth;        ///< memory, nominal, bytes/s
  double bandwidth_share;  ///< of it reached by a streaming kernel
  double launch_seconds;   ///< fixed time of a kernel
  double lanes;            ///< fp32 units
  /// Share of the peak that a large convolution or matrix product reaches; taken as 0.8, at which
  /// vendor libraries stand for large square products.
  double matrix_share = 0.8;
  /// The same for everything else: no fused multiply-add, special functions among it.
  double vector_share = 0.25;
  Grouping grouping = {};
  bool half_kernels = true;  ///< otherwise 16-bit floats cost what float32 does (core/cost/work.h)
};

/// The devices of the table.
std::span<const DeviceProfile> device_profiles();
/// InputError with the known names.
const DeviceProfile& device_profile(std::string_view name);

/// Time of one operator after Williams, Waterman and Patterson, "Roofline" (CACM 2009):
///
///   launch + max(flops / (share * occupancy * grouping * peak), bytes / bandwidth)
///
/// `occupancy`, for Conv, ConvTranspose, MatMul and Gemm: p / (p + 16 * lanes) with p the number of
/// output elements, so half the rate where each lane has 16 of them. It is the form of Hockney and
/// Jesshope's n_1/2 (Parallel Computers, 1981); 16 independent results a lane are about what hides
/// the latency of a multiply-add (Volkov, "Better performance at lower occupancy", GTC 2010).
/// `grouping`, for a convolution with several groups: min(1, c / tile) with c the smaller of the
/// channels into and out of a group. On a GPU a tile has 32 channels. On a processor it has 8,
/// depthwise convolutions have kernels of their own at half of the rate, and groups of two or three
/// channels run a generic kernel: measured with oneDNN 2.6 on one thread of an AMD EPYC with
/// AVX-512, 3x3 filters, 64 to 512 channels, every number of groups.
///
/// Operators that only rename data (Reshape, Flatten, Squeeze, Unsqueeze, Identity, Dropout) cost
/// nothing. A fused activation, bias or residual costs its traffic and FLOPs, and no launch.
Picoseconds roofline_time(const DeviceProfile& device, const OpSignature& signature);

/// "roofline:<device>"; deterministic, estimated.
std::shared_ptr<CostModel> make_roofline(const DeviceProfile& device);

}  // namespace reverie
