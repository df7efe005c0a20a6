#pragma once

#include "core/exec/device/elements.h"

/// What a block of threads does for an Attention call: some rows of queries of one head, the keys
/// in portions, of which the softmax is held as in Milakov and Gimelshein, "Online normalizer
/// calculation for softmax" (2018), and as Dao et al., "FlashAttention" (2022), algorithm 1 put it
/// around the products. Compiled for devices and for the host, whose tests make a block of threads.
namespace reverie::device {

inline constexpr int kAttentionThreads = 128;
inline constexpr int kAttentionWarps = kAttentionThreads / 32;
inline constexpr int kAttentionTile = 16;  ///< products are of tiles of so many rows and columns
inline constexpr int kAttentionKeys = 64;  ///< a portion
inline constexpr int kLanesOfRow = 8;      ///< threads that share a row of a softmax

/// Distance of rows in shared memory that keeps the rows of a tile in different banks.
template <typename Number>
REVERIE_ON_DEVICE int padded_row(int columns) {
  return columns + 16 / static_cast<int>(sizeof(Number));
}

/// HeadStrides as a plain array: std::array has no device functions.
struct HeadPlaces {
  int64_t outer, head, row, column;
};

struct AttentionWork {
  DType dtype;
  int64_t outer, heads;
  int queries, keys, depth, width;
  float scale;
  HeadPlaces q, k, v, mask, result;
  bool has_mask;
};
AttentionWork work_of(const Attention& call);

struct AttentionMemory {
  const std::byte *q, *k, *v, *mask;
  std::byte* result;
};

REVERIE_ON_DEVICE int in_tiles(int columns) {
  return (columns + kAttentionTile - 1) / kAttentionTile * kAttentionTile;
}

/// Where a block keeps what, by distances of rows. `Number` is what products are made of.
template <typename Number>
struct AttentionShared {
  int rows, depth, width, scores;  ///< scores and sums are floats
  int q, v, shares;

  REVERIE_ON_DEVICE AttentionShared(const AttentionWork& work, int rows_of_block)
      : rows(rows_of_block),
        depth(in_tiles(work.depth)),
        width(padded_row<float>(in_tiles(work.width))),
        scores(padded_row<float>(kAttentionKeys)),
        q(padded_row<Number>(depth)),
        v(padded_row<Number>(in_tiles(work.width))),
        shares(padded_row<Number>(kAttentionKeys)) {}
  REVERIE_ON_DEVICE int floats() const { return rows * (width + scores); }
  REVERIE_ON_DEVICE int numbers_of_portion() const { return kAttentionKeys * (q > v ? q : v); }
  REVERIE_ON_DEVICE int64_t bytes() const {
    return static_cast<int64_t>(sizeof(float)) * floats() +
           static_cast<int64_t>(sizeof(Number)) * (rows * (q + shares) + numbers_of_portion());
  }
};

/// Rows first to first + count of an operand as numbers of `Tiles`, with zeros beyond `limit` and
/// in the columns that fill the last tile.
template <typename Tiles, typename Block>
REVERIE_ON_DEVICE void load_rows(Block& block, DType dtype, const std::byte* memory, int64_t base,
                                 const HeadPlaces& places, int first, int count, int limit,
                                 int columns, typename Tiles::Number* to, int stride) {
  const int padded = in_tiles(columns);
  for (int i = block.thread(); i < count * padded; i += kAttentionThreads) {
    const int row = i / padded, column = i % padded;
    const bool is_there = first + row < limit && column < columns;
    const int64_t at = base + (first + row) * places.row + column * places.column;
    to[row * stride + column] = Tiles::number(is_there ? float_at(memory, dtype, at) : 0.0f);
  }
}

/// Tiles [tile_rows, tile_columns] of c, of all warps together.
template <typename Tiles, typename Block, typename Number>
REVERIE_ON_DEVICE void multiply_tiles(Block& block, const Number* a, int a_stride, const Number* b,
                                      int b_stride, bool b_is_transposed, float* c, int c_stride,
                                      int tile_rows, int tile_columns, int inner, bool adds) {
  for (int tile = block.thread() / 32; tile < tile_rows * tile_columns; tile += kAttentionWarps) {
    const int row = tile / tile_columns * kAttentionTile;
    const int column = tile % tile_columns * kAttentionTile;
    Tiles::multiply(block.thread() % 32, a + row * a_stride, a_stride,
                    b + (b_is_transposed ? column * b_stride : column), b_stride, b_is_transposed,
                    c + row * c_stride + column, c_stride, inner, adds);
  }
}

/// Block number `index` of outer x heads x blocks of 16 `kTileRows` queries. `Tiles` has `Number`,
/// `number(float)` and `multiply`, by which a warp makes a tile of a product; `Block` has
/// `thread()`, `wait()` for all threads, and `largest(x)` and `sum(x)` over the kLanesOfRow threads
/// of a row.
template <typename Tiles, int kTileRows, typename Block>
REVERIE_ON_DEVICE void attend(Block& block, const AttentionWork& work,
                              const AttentionMemory& memory, int64_t index, std::byte* shared) {
  using Number = typename Tiles::Number;
  constexpr int kRows = kTileRows * kAttentionTile;
  constexpr int kRowsAtOnce = kAttentionThreads / kLanesOfRow;
  constexpr int kTurns = kRows / kRowsAtOnce;
  const AttentionShared<Number> layout(work, kRows);
  const int width = in_tiles(work.width);
  auto* sums = reinterpret_cast<float*>(shared);
  float* scores = sums + kRows * layout.width;
  auto* q = reinterpret_cast<Number*>(sums + layout.floats());
  Number* keys = q + kRows * layout.q;  // then the values
  Number* shares = keys + layout.numbers_of_portion();

  const int64_t blocks = (work.queries + kRows - 1) / kRows;
  const int64_t outer = index / blocks / work.heads, head = index / blocks % work.heads;
  const int first = static_cast<int>(index % blocks) * kRows;
  const auto base = [&](const HeadPlaces& places) {
    return outer * places.outer + head * places.head;
  };
  const int my_row = block.thread() / kLanesOfRow, lane = block.thread() % kLanesOfRow;

  load_rows<Tiles>(block, work.dtype, memory.q, base(work.q), work.q, first, kRows, work.queries,
                   work.depth, q, layout.q);
  for (int i = block.thread(); i < kRows * layout.width; i += kAttentionThreads) sums[i] = 0;
  float largest[kTurns], total[kTurns];
  for (int turn = 0; turn < kTurns; ++turn) {
    largest[turn] = -INFINITY;
    total[turn] = 0;
  }
  for (int key = 0; key < work.keys; key += kAttentionKeys) {
    load_rows<Tiles>(block, work.dtype, memory.k, base(work.k), work.k, key, kAttentionKeys,
                     work.keys, work.depth, keys, layout.q);
    block.wait();
    multiply_tiles<Tiles>(block, q, layout.q, keys, layout.q, true, scores, layout.scores,
                          kTileRows, kAttentionKeys / kAttentionTile, layout.depth, false);
    block.wait();
    load_rows<Tiles>(block, work.dtype, memory.v, base(work.v), work.v, key, kAttentionKeys,
                     work.keys, work.width, keys, layout.v);
    for (int turn = 0; turn < kTurns; ++turn) {
      const int row = turn * kRowsAtOnce + my_row, query = first + row;
      float* mine = scores + row * layout.scores;
      const int64_t mask = base(work.mask) + query * work.mask.row;
      float most = largest[turn];
      for (int i = lane; i < kAttentionKeys; i += kLanesOfRow) {
        const bool is_there = key + i < work.keys && query < work.queries;
        float score = is_there ? mine[i] * work.scale : -INFINITY;
        if (is_there && work.has_mask)
          score += float_at(memory.mask, work.dtype, mask + (key + i) * work.mask.column);
        mine[i] = score;
        most = binary(Function::kMax, most, score);
      }
      most = block.largest(most);
      const float origin = most == -INFINITY ? 0 : most;
      float portion = 0;
      for (int i = lane; i < kAttentionKeys; i += kLanesOfRow) {
        const float share = expf(mine[i] - origin);
        shares[row * layout.shares + i] = Tiles::number(share);
        portion += share;
      }
      const float shrinks = expf(largest[turn] - origin);
      total[turn] = total[turn] * shrinks + block.sum(portion);
      largest[turn] = most;
      for (int i = lane; i < width; i += kLanesOfRow) sums[row * layout.width + i] *= shrinks;
    }
    block.wait();
    multiply_tiles<Tiles>(block, shares, layout.shares, keys, layout.v, false, sums, layout.width,
                          kTileRows, width / kAttentionTile, kAttentionKeys, true);
    block.wait();
  }
  for (int turn = 0; turn < kTurns; ++turn) {
    const int row = turn * kRowsAtOnce + my_row;
    if (first + row >= work.queries) continue;
    const int64_t at = base(work.result) + (first + row) * work.result.row;
    for (int i = lane; i < work.width; i += kLanesOfRow)
      put_float(memory.result, work.dtype, at + i * work.result.column,
                sums[row * layout.width + i] / total[turn]);
  }
}

struct alignas(16) FourFloats {
  float x[4];
};
REVERIE_ON_DEVICE FourFloats four_at(const float* memory) {
  return *reinterpret_cast<const FourFloats*>(memory);
}

/// Tiles of floats; every thread of a warp has two rows, eight apart, and four columns.
struct FloatTiles {
  using Number = float;
  REVERIE_ON_DEVICE static float number(float x) { return x; }
  REVERIE_ON_DEVICE static void multiply(int lane, const float* a, int a_stride, const float* b,
                                         int b_stride, bool b_is_transposed, float* c, int c_stride,
                                         int inner, bool adds) {
    constexpr int kRows = 2, kColumns = 4, kAtOnce = 4;
    const int own = lane % kColumns;  // columns that are read together lie in one row of memory
    const int column_step = b_is_transposed ? kColumns : 1;
    const int first = b_is_transposed ? own : own * kColumns;
    a += lane / kColumns * a_stride;
    b += b_is_transposed ? first * b_stride : first;
    c += lane / kColumns * c_stride + first;
    float result[kRows][kColumns];
    for (int i = 0; i < kRows; ++i)
      for (int j = 0; j < kColumns; ++j)
        result[i][j] = adds ? c[i * 8 * c_stride + j * column_step] : 0.0f;
    for (int k = 0; k < inner; k += kAtOnce) {
      FourFloats left[kRows], right[kColumns];  // right: by column, or by k
      for (int i = 0; i < kRows; ++i) left[i] = four_at(a + i * 8 * a_stride + k);
      for (int j = 0; j < kColumns; ++j)
        right[j] =
            four_at(b_is_transposed ? b + j * column_step * b_stride + k : b + (k + j) * b_stride);
      for (int at = 0; at < kAtOnce; ++at)
        for (int j = 0; j < kColumns; ++j)
          for (int i = 0; i < kRows; ++i)
            result[i][j] += left[i].x[at] * (b_is_transposed ? right[j].x[at] : right[at].x[j]);
    }
    for (int i = 0; i < kRows; ++i)
      for (int j = 0; j < kColumns; ++j) c[i * 8 * c_stride + j * column_step] = result[i][j];
  }
};

}  // namespace reverie::device
