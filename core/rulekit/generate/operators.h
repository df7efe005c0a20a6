#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace reverie::generate {

enum class Kind : uint8_t {
  kMatMul,
  kAdd,
  kMul,
  kSub,
  kDiv,
  kScale,  ///< by a tensor of rank 0
  kConv,
  kConvRelu,  ///< stride 1, padding same, groups by the channels
  kAveragePool,
  kMaxPool,  ///< 3x3, stride 1, padding same; the average counts the padding
  kRelu,
  kSigmoid,
  kTanh,
  kSoftmax,    ///< along the last axis
  kReduceSum,  ///< along `axis`, which stays with extent 1
  kReshape,    ///< of a matrix, row by row, to one dimension
  kConcat,
  kSplitFirst,
  kSplitSecond,  ///< the two parts that a tensor was joined of along `axis`
  kTranspose,    ///< of matrices
  kEnlarge,      ///< a kernel to 3x3, with zeros
  kIdentityMatrix,
  kIdentityConv,
  kOne,
  kPoolKernel,  ///< constants
};

/// An operator of the enumeration; its two outputs make a Split two of them.
struct Operator {
  Kind kind;
  int rank = 0;  ///< of Concat, Split, One
  int axis = 0;  ///< of Concat, Split, ReduceSum
};

int arity(Kind kind);
/// Of the operator as TASO sees it; kSplitFirst and kSplitSecond are one.
std::string name_of(const Operator& op);
bool is_commutative(Kind kind);
bool is_split(Kind kind);

/// `text`: "taso", "all", or names as in `operator_names`, separated by commas. InputError names
/// what is unknown. Order and repetitions in `text` make no difference.
std::vector<Operator> parse_operators(const std::string& text);
std::vector<std::string> operator_names();

/// Extents of a small tensor and, per axis, that of the first of two parts of which the tensor was
/// joined along it; 0 where it was not.
struct Extents {
  uint8_t rank = 0;
  std::array<uint8_t, 4> dim{};
  std::array<uint8_t, 4> piece{};

  int size() const;
  bool same_dims(const Extents& other) const { return rank == other.rank && dim == other.dim; }
  bool operator==(const Extents&) const = default;
};

/// The extents that stand for all: which inputs there are and what random values they hold.
struct World {
  uint8_t rows = 2, width = 3;
  uint8_t batch = 1, channels = 2, height = 4, breadth = 3;
  int most_elements = 256;  ///< 4x4x4x4
  /// By how many of the kinds of kernels each takes the extents of the next ones.
  int turned_kernels = 0;
  uint64_t seed = 1;
};

/// Extents of the result; nothing where the operator does not take these operands. Operands that
/// the operator does not have are ignored.
std::optional<Extents> infer(const Operator& op, const Extents& a, const Extents& b,
                             const World& world);

/// Writes the elements of the result, whose extents are `to`.
void evaluate(const Operator& op, const Extents& ea, const uint64_t* a, const Extents& eb,
              const uint64_t* b, const Extents& to, uint64_t* out);

/// Kinds of inputs, by what they are for.
enum class InputKind : uint8_t {
  kMatrix,
  kSquare,
  kImage,
  kKernel3x3,
  kKernel1x1,
  kKernel1x3,
  kKernel3x1,
  kDepthwise3x3,
  kScalar,
  kJoinedColumns,
  kJoinedRows,
  kJoinedChannels,
  kJoinedBatch,
};
Extents extents_of(InputKind kind, const World& world);
/// The inputs of an enumeration over these operators, those of a kind in a row.
std::vector<InputKind> inputs_for(const std::vector<Operator>& operators);

}  // namespace reverie::generate
