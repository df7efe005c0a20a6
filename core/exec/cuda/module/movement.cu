#include <algorithm>
#include <cstdlib>
#include <vector>

#include "core/exec/cuda/module/axes.h"
#include "core/exec/cuda/module/kernels.h"
#include "core/exec/cuda/module/launch.h"
#include "core/exec/device/elements.h"

namespace reverie::device::cuda {
namespace {

// --- Any movement --------------------------------------------------------------------------------

inline constexpr int kPieces = 8;

struct Pieces {
  PieceWork work[kPieces];
  const std::byte* sources[kPieces];
  std::byte* targets[kPieces];
};

template <typename Element>
__global__ void move_pieces(Pieces pieces) {
  const PieceWork& work = pieces.work[blockIdx.y];
  const std::byte* source = pieces.sources[blockIdx.y];
  std::byte* target = pieces.targets[blockIdx.y];
  for (int64_t i = first_of_thread(); i < work.elements; i += grid_step())
    move_element<Element>(work, source, target, i);
}

// --- Transposition -------------------------------------------------------------------------------

inline constexpr int kTile = 32;
inline constexpr int kTileRows = 8;

/// Planes of rows x columns: neighbours along a row of the source, and along a column of the
/// target.
struct TransposeWork {
  int64_t rows, columns, row_tiles, column_tiles, tiles;
  int64_t source_row, target_column;  ///< distances: from row to row, and from column to column
  PieceWork planes;                   ///< where each plane begins
};

template <typename Element>
__global__ void transpose(TransposeWork work, const Element* source, Element* target) {
  __shared__ Element tile[kTile][kTile + 1];
  const PieceWork& planes = work.planes;
  for (int64_t i = blockIdx.x; i < work.tiles; i += gridDim.x) {
    const int64_t column0 = i % work.column_tiles * kTile;
    const int64_t row0 = i / work.column_tiles % work.row_tiles * kTile;
    const int64_t plane = i / (work.column_tiles * work.row_tiles);
    const Element* from = source + planes.source +
                          offset_of(plane, planes.axes, planes.extents, planes.source_strides);
    Element* to = target + planes.target +
                  offset_of(plane, planes.axes, planes.extents, planes.target_strides);
    for (int y = static_cast<int>(threadIdx.y); y < kTile; y += kTileRows) {
      const int64_t row = row0 + y, column = column0 + threadIdx.x;
      if (row < work.rows && column < work.columns)
        tile[y][threadIdx.x] = from[row * work.source_row + column];
    }
    __syncthreads();
    for (int y = static_cast<int>(threadIdx.y); y < kTile; y += kTileRows) {
      const int64_t row = row0 + threadIdx.x, column = column0 + y;
      if (row < work.rows && column < work.columns)
        to[column * work.target_column + row] = tile[threadIdx.x][y];
    }
    __syncthreads();
  }
}

// --- What to launch ------------------------------------------------------------------------------

struct Ready {
  PieceWork work;
  int read, write;
  int64_t element_bytes;
};

struct Transposition {
  TransposeWork work;
  int read, write;
};

/// Axes in the order of the target, those that can be one made one. Elements do not depend on each
/// other.
PieceWork in_order_of_target(const Piece& piece) {
  const PieceWork given = work_of(piece);
  std::vector<int> order(static_cast<size_t>(given.axes));
  for (int i = 0; i < given.axes; ++i) order[static_cast<size_t>(i)] = i;
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return std::llabs(given.target_strides[a]) > std::llabs(given.target_strides[b]);
  });
  PieceWork work = given;
  for (int i = 0; i < given.axes; ++i) {
    const int from = order[static_cast<size_t>(i)];
    work.extents[i] = given.extents[from];
    work.source_strides[i] = given.source_strides[from];
    work.target_strides[i] = given.target_strides[from];
  }
  work.axes = merge_axes(work.axes, work.extents, {work.source_strides, work.target_strides});
  return work;
}

/// The same with several neighbouring elements taken as one, of 16 bytes at most.
Ready widened(Ready piece) {
  PieceWork& work = piece.work;
  const int inner = work.axes - 1;
  if (inner < 0 || work.source_strides[inner] != 1 || work.target_strides[inner] != 1) return piece;
  const auto is_wide = [&](int64_t by) {
    bool divides = work.extents[inner] % by == 0 && work.source % by == 0 && work.target % by == 0;
    for (int axis = 0; axis < inner; ++axis)
      divides =
          divides && work.source_strides[axis] % by == 0 && work.target_strides[axis] % by == 0;
    return divides;
  };
  int64_t by = 16 / piece.element_bytes;
  while (!is_wide(by)) by /= 2;
  work.extents[inner] /= by;
  work.elements /= by;
  work.source /= by;
  work.target /= by;
  for (int axis = 0; axis < inner; ++axis) {
    work.source_strides[axis] /= by;
    work.target_strides[axis] /= by;
  }
  piece.element_bytes *= by;
  return piece;
}

/// The axis other than the last along which the source is contiguous, and that is worth tiles; or
/// -1.
int transposed_axis(const PieceWork& work) {
  const int inner = work.axes - 1;
  if (work.axes < 2 || work.extents[inner] < kTileRows) return -1;
  if (work.target_strides[inner] != 1 || work.source_strides[inner] == 1) return -1;
  for (int axis = 0; axis < inner; ++axis)
    if (work.source_strides[axis] == 1 && work.extents[axis] >= kTileRows) return axis;
  return -1;
}

Transposition transposition_of(const Ready& piece, int axis) {
  const PieceWork& work = piece.work;
  const int inner = work.axes - 1;
  TransposeWork result{.rows = work.extents[inner],
                       .columns = work.extents[axis],
                       .row_tiles = (work.extents[inner] + kTile - 1) / kTile,
                       .column_tiles = (work.extents[axis] + kTile - 1) / kTile,
                       .tiles = 0,
                       .source_row = work.source_strides[inner],
                       .target_column = work.target_strides[axis],
                       .planes = work};
  PieceWork& planes = result.planes;
  planes.axes = 0;
  planes.elements = 1;
  for (int i = 0; i < inner; ++i) {
    if (i == axis) continue;
    planes.extents[planes.axes] = work.extents[i];
    planes.source_strides[planes.axes] = work.source_strides[i];
    planes.target_strides[planes.axes++] = work.target_strides[i];
    planes.elements *= work.extents[i];
  }
  result.tiles = result.row_tiles * result.column_tiles * planes.elements;
  return {result, piece.read, piece.write};
}

class MovementKernel final : public Kernel {
 public:
  MovementKernel(ContextPtr context, const Movement& call)
      : context_(std::move(context)), reads_(call.reads), element_bytes_(call.element_bytes) {
    for (const Piece& piece : call.pieces) {
      const Ready ready{in_order_of_target(piece), piece.read, piece.write, call.element_bytes};
      if (ready.work.elements == 0) continue;
      if (const int axis = transposed_axis(ready.work); axis >= 0) {
        transpositions_.push_back(transposition_of(ready, axis));
      } else {
        narrow_.push_back(ready);
        wide_.push_back(widened(ready));
      }
    }
    // Pieces of one launch have elements of one size.
    std::stable_sort(wide_.begin(), wide_.end(), [](const Ready& a, const Ready& b) {
      return a.element_bytes < b.element_bytes;
    });
  }

  void launch(Memory memory, std::byte*) override {
    const bool is_aligned = std::all_of(memory.begin(), memory.end(), [](const std::byte* pointer) {
      return reinterpret_cast<uintptr_t>(pointer) % 16 == 0;
    });
    launch_pieces(is_aligned ? wide_ : narrow_, memory);
    for (const Transposition& piece : transpositions_) launch_transposition(piece, memory);
  }

 private:
  void launch_pieces(const std::vector<Ready>& pieces, Memory memory) const {
    for (size_t first = 0; first < pieces.size();) {
      Pieces group{};
      int count = 0;
      int64_t most = 0;
      const int64_t bytes = pieces[first].element_bytes;
      for (; first < pieces.size() && count < kPieces; ++first) {
        const Ready& piece = pieces[first];
        if (piece.element_bytes != bytes) break;
        group.work[count] = piece.work;
        group.sources[count] = memory[static_cast<size_t>(piece.read)];
        group.targets[count++] = memory[static_cast<size_t>(reads_ + piece.write)];
        most = std::max(most, piece.work.elements);
      }
      launch_group(group, count, most, bytes);
    }
  }

  void launch_group(const Pieces& group, int count, int64_t most, int64_t bytes) const {
    const dim3 grid(blocks_for(*context_, most), static_cast<unsigned>(count));
    const cudaStream_t stream = context_->stream();
    switch (bytes) {
      case 1:
        move_pieces<uint8_t><<<grid, kThreads, 0, stream>>>(group);
        break;
      case 2:
        move_pieces<uint16_t><<<grid, kThreads, 0, stream>>>(group);
        break;
      case 4:
        move_pieces<uint32_t><<<grid, kThreads, 0, stream>>>(group);
        break;
      case 8:
        move_pieces<uint64_t><<<grid, kThreads, 0, stream>>>(group);
        break;
      default:
        move_pieces<uint4><<<grid, kThreads, 0, stream>>>(group);
    }
    check(cudaGetLastError(), "launch of Movement");
  }

  void launch_transposition(const Transposition& piece, Memory memory) const {
    switch (element_bytes_) {
      case 1:
        return launch_tiles<uint8_t>(piece, memory);
      case 2:
        return launch_tiles<uint16_t>(piece, memory);
      case 4:
        return launch_tiles<uint32_t>(piece, memory);
      default:
        return launch_tiles<uint64_t>(piece, memory);
    }
  }

  template <typename Element>
  void launch_tiles(const Transposition& piece, Memory memory) const {
    transpose<<<blocks_for(*context_, piece.work.tiles, 1), dim3(kTile, kTileRows), 0,
                context_->stream()>>>(
        piece.work, reinterpret_cast<const Element*>(memory[static_cast<size_t>(piece.read)]),
        reinterpret_cast<Element*>(memory[static_cast<size_t>(reads_ + piece.write)]));
    check(cudaGetLastError(), "launch of Movement");
  }

  ContextPtr context_;
  int reads_;
  int64_t element_bytes_;
  std::vector<Ready> narrow_, wide_;  ///< the same pieces, for pointers of any and of 16 bytes
  std::vector<Transposition> transpositions_;
};

}  // namespace

KernelPtr prepare(const ContextPtr& context, const Movement& call) {
  const int64_t bytes = call.element_bytes;
  if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8) return nullptr;
  return std::make_unique<MovementKernel>(context, call);
}

}  // namespace reverie::device::cuda
