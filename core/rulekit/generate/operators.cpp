#include "core/rulekit/generate/operators.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/base/error.h"

namespace reverie::generate {
namespace {

struct Family {
  const char* name;
  std::vector<Operator> members;
  bool taso;
};

const std::vector<Family>& families() {
  using enum Kind;
  static const std::vector<Family> all = {
      {"matmul", {{kMatMul}}, true},
      {"add", {{kAdd}}, true},
      {"mul", {{kMul}}, true},
      {"scale", {{kScale}}, true},
      {"conv", {{kConv}}, true},
      {"conv_relu", {{kConvRelu}}, true},
      {"average_pool", {{kAveragePool}}, true},
      {"max_pool", {{kMaxPool}}, true},
      {"relu", {{kRelu}}, true},
      {"concat", {{kConcat, 2, 0}, {kConcat, 2, 1}, {kConcat, 4, 0}, {kConcat, 4, 1}}, true},
      {"split",
       {{kSplitFirst, 2, 0},
        {kSplitSecond, 2, 0},
        {kSplitFirst, 2, 1},
        {kSplitSecond, 2, 1},
        {kSplitFirst, 4, 0},
        {kSplitSecond, 4, 0},
        {kSplitFirst, 4, 1},
        {kSplitSecond, 4, 1}},
       true},
      {"transpose", {{kTranspose, 2}}, true},
      {"enlarge", {{kEnlarge}}, true},
      {"identity_matrix", {{kIdentityMatrix, 2}}, true},
      {"identity_conv", {{kIdentityConv, 4}}, true},
      {"one", {{kOne, 2}, {kOne, 4}}, true},
      {"pool_kernel", {{kPoolKernel, 4}}, true},
      {"sigmoid", {{kSigmoid}}, false},
      {"tanh", {{kTanh}}, false},
      {"softmax", {{kSoftmax, 2, 1}}, false},
      {"sub", {{kSub}}, false},
      {"div", {{kDiv}}, false},
      {"reduce_sum", {{kReduceSum, 2, 0}, {kReduceSum, 2, 1}}, false},
      {"reshape", {{kReshape, 2, 0}}, false},
  };
  return all;
}

std::set<std::string> chosen_names(const std::string& text) {
  std::set<std::string> names;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string name = text.substr(begin, end - begin);
    begin = end + 1;
    const bool known = std::any_of(families().begin(), families().end(),
                                   [&](const Family& family) { return name == family.name; });
    if (!known && name != "taso" && name != "all")
      throw InputError("operator '{}' is not known: taso, all or some of {}, separated by commas",
                       name, fmt::join(operator_names(), ", "));
    for (const Family& family : families())
      if (name == family.name || name == "all" || (name == "taso" && family.taso))
        names.insert(family.name);
  }
  return names;
}

Extents matrix(int rows, int columns) {
  return {2, {static_cast<uint8_t>(rows), static_cast<uint8_t>(columns)}, {}};
}
Extents tensor4(int n, int c, int h, int w) {
  return {4,
          {static_cast<uint8_t>(n), static_cast<uint8_t>(c), static_cast<uint8_t>(h),
           static_cast<uint8_t>(w)},
          {}};
}

bool is_image(const Extents& x, const World& world) {
  return x.rank == 4 && x.dim[2] == world.height && x.dim[3] == world.breadth;
}
bool is_kernel(const Extents& x) {
  return x.rank == 4 && (x.dim[2] == 1 || x.dim[2] == 3) && (x.dim[3] == 1 || x.dim[3] == 3);
}

std::optional<Extents> infer_constant(const Operator& op, const World& world) {
  const int width = world.width;
  const int channels = world.channels;
  switch (op.kind) {
    case Kind::kIdentityMatrix:
      return matrix(width, width);
    case Kind::kIdentityConv:
      return tensor4(channels, channels, 3, 3);
    case Kind::kPoolKernel:
      return tensor4(channels, 1, 3, 3);
    default:
      return op.rank == 2 ? matrix(world.rows, width)
                          : tensor4(world.batch, channels, world.height, world.breadth);
  }
}

std::optional<Extents> infer_conv(const Extents& x, const Extents& w, const World& world) {
  if (!is_image(x, world) || !is_kernel(w)) return {};
  if (x.dim[1] % w.dim[1] != 0 || w.dim[0] % (x.dim[1] / w.dim[1]) != 0) return {};
  Extents to = x;
  to.dim[1] = w.dim[0];
  to.piece[1] = w.piece[0];
  return to;
}

std::optional<Extents> infer_concat(size_t axis, const Extents& a, const Extents& b) {
  if (a.rank != b.rank) return {};
  for (size_t k = 0; k < a.rank; ++k)
    if (k != axis && a.dim[k] != b.dim[k]) return {};
  Extents to = a;
  to.dim[axis] = static_cast<uint8_t>(a.dim[axis] + b.dim[axis]);
  to.piece[axis] = a.dim[axis];
  return to;
}

std::optional<Extents> infer_split(const Operator& op, const Extents& a) {
  const auto axis = static_cast<size_t>(op.axis);
  if (a.rank != op.rank || a.piece[axis] == 0) return {};
  Extents to = a;
  to.dim[axis] = op.kind == Kind::kSplitFirst ? a.piece[axis]
                                              : static_cast<uint8_t>(a.dim[axis] - a.piece[axis]);
  to.piece[axis] = 0;
  return to;
}

std::optional<Extents> infer_any(const Operator& op, const Extents& a, const Extents& b,
                                 const World& world) {
  const auto axis = static_cast<size_t>(op.axis);
  Extents to = a;
  switch (op.kind) {
    case Kind::kMatMul:
      if (a.rank != 2 || b.rank != 2 || a.dim[1] != b.dim[0]) return {};
      to.dim[1] = b.dim[1];
      to.piece[1] = b.piece[1];
      return to;
    case Kind::kAdd:
    case Kind::kMul:
    case Kind::kSub:
    case Kind::kDiv:
      if (!a.same_dims(b)) return {};
      for (size_t k = 0; k < 4; ++k)
        if (to.piece[k] == 0) to.piece[k] = b.piece[k];
      return to;
    case Kind::kScale:
      if (a.rank == 0 || b.rank != 0) return {};
      return to;
    case Kind::kConv:
    case Kind::kConvRelu:
      return infer_conv(a, b, world);
    case Kind::kAveragePool:
    case Kind::kMaxPool:
      if (!is_image(a, world)) return {};
      return to;
    case Kind::kRelu:
    case Kind::kSigmoid:
    case Kind::kTanh:
      return to;
    case Kind::kSoftmax:
      if (a.rank != 2) return {};
      to.piece[1] = 0;
      return to;
    case Kind::kReduceSum:
      if (a.rank != 2 || a.dim[axis] == 1) return {};
      to.dim[axis] = 1;
      to.piece[axis] = 0;
      return to;
    case Kind::kReshape:
      if (a.rank != 2) return {};
      return Extents{1, {static_cast<uint8_t>(a.dim[0] * a.dim[1])}, {}};
    case Kind::kTranspose:
      if (a.rank != 2) return {};
      std::swap(to.dim[0], to.dim[1]);
      std::swap(to.piece[0], to.piece[1]);
      return to;
    case Kind::kConcat:
      if (a.rank != op.rank) return {};
      return infer_concat(axis, a, b);
    case Kind::kSplitFirst:
    case Kind::kSplitSecond:
      return infer_split(op, a);
    case Kind::kEnlarge:
      if (!is_kernel(a) || (a.dim[2] == 3 && a.dim[3] == 3)) return {};
      to.dim[2] = to.dim[3] = 3;
      return to;
    default:
      return infer_constant(op, world);
  }
}

}  // namespace

int arity(Kind kind) {
  switch (kind) {
    case Kind::kMatMul:
    case Kind::kAdd:
    case Kind::kMul:
    case Kind::kSub:
    case Kind::kDiv:
    case Kind::kScale:
    case Kind::kConv:
    case Kind::kConvRelu:
    case Kind::kConcat:
      return 2;
    case Kind::kIdentityMatrix:
    case Kind::kIdentityConv:
    case Kind::kOne:
    case Kind::kPoolKernel:
      return 0;
    default:
      return 1;
  }
}

bool is_commutative(Kind kind) { return kind == Kind::kAdd || kind == Kind::kMul; }
bool is_split(Kind kind) { return kind == Kind::kSplitFirst || kind == Kind::kSplitSecond; }

std::string name_of(const Operator& op) {
  for (const Family& family : families())
    for (const Operator& member : family.members)
      if (member.kind == op.kind && member.rank == op.rank && member.axis == op.axis)
        return family.name;
  REVERIE_CHECK(false, "operator without a name");
  return "";
}

std::vector<std::string> operator_names() {
  std::vector<std::string> names;
  for (const Family& family : families()) names.emplace_back(family.name);
  return names;
}

std::vector<Operator> parse_operators(const std::string& text) {
  const std::set<std::string> names = chosen_names(text);
  std::vector<Operator> operators;
  for (const Family& family : families())
    if (names.contains(family.name))
      operators.insert(operators.end(), family.members.begin(), family.members.end());
  return operators;
}

int Extents::size() const {
  int size = 1;
  for (size_t k = 0; k < rank; ++k) size *= dim[k];
  return size;
}

std::optional<Extents> infer(const Operator& op, const Extents& a, const Extents& b,
                             const World& world) {
  const auto to = infer_any(op, a, b, world);
  if (!to || to->size() > world.most_elements) return {};
  return to;
}

Extents extents_of(InputKind kind, const World& world) {
  const int n = world.batch, c = world.channels, h = world.height, w = world.breadth;
  Extents result;
  switch (kind) {
    case InputKind::kMatrix:
      return matrix(world.rows, world.width);
    case InputKind::kSquare:
      return matrix(world.width, world.width);
    case InputKind::kImage:
      return tensor4(n, c, h, w);
    case InputKind::kKernel3x3:
    case InputKind::kKernel1x1:
    case InputKind::kKernel1x3:
    case InputKind::kKernel3x1: {
      constexpr int kExtents[4][2] = {{3, 3}, {1, 1}, {1, 3}, {3, 1}};
      const int first = static_cast<int>(kind) - static_cast<int>(InputKind::kKernel3x3);
      const auto& [kh, kw] = kExtents[(first + world.turned_kernels) % 4];
      return tensor4(c, c, kh, kw);
    }
    case InputKind::kDepthwise3x3:
      return tensor4(c, 1, 3, 3);
    case InputKind::kScalar:
      return result;
    case InputKind::kJoinedColumns:
      result = matrix(world.rows, 2 * world.width);
      break;
    case InputKind::kJoinedRows:
      result = matrix(2 * world.rows, world.width);
      break;
    case InputKind::kJoinedChannels:
      result = tensor4(n, 2 * c, h, w);
      break;
    case InputKind::kJoinedBatch:
      result = tensor4(2 * n, c, h, w);
      break;
  }
  const bool second = kind == InputKind::kJoinedColumns || kind == InputKind::kJoinedChannels;
  result.piece[second] = result.dim[second] / 2;
  return result;
}

std::vector<InputKind> inputs_for(const std::vector<Operator>& operators) {
  const auto has = [&](std::initializer_list<Kind> kinds) {
    return std::any_of(operators.begin(), operators.end(), [&](const Operator& op) {
      return std::find(kinds.begin(), kinds.end(), op.kind) != kinds.end();
    });
  };
  const bool split = has({Kind::kSplitFirst});
  const bool images = has({Kind::kConv, Kind::kConvRelu, Kind::kAveragePool, Kind::kMaxPool,
                           Kind::kConcat, Kind::kEnlarge});
  const bool kernels = has({Kind::kConv, Kind::kConvRelu, Kind::kEnlarge});
  std::vector<InputKind> inputs;
  const auto add = [&](InputKind kind, int count) {
    inputs.insert(inputs.end(), static_cast<size_t>(count), kind);
  };
  add(InputKind::kMatrix, 3);
  add(InputKind::kSquare, 3);
  if (images) add(InputKind::kImage, 3);
  if (kernels) {
    add(InputKind::kKernel3x3, 3);
    for (const InputKind kind :
         {InputKind::kKernel1x1, InputKind::kKernel1x3, InputKind::kKernel3x1})
      add(kind, 2);
    add(InputKind::kDepthwise3x3, 1);
  }
  if (has({Kind::kScale})) add(InputKind::kScalar, 2);
  if (split)
    for (const InputKind kind : {InputKind::kJoinedColumns, InputKind::kJoinedRows}) add(kind, 2);
  if (split && images)
    for (const InputKind kind : {InputKind::kJoinedChannels, InputKind::kJoinedBatch}) add(kind, 2);
  return inputs;
}

}  // namespace reverie::generate
