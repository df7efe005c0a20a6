#include "core/rulekit/taso/layout.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <span>
#include <utility>

#include "core/base/error.h"
#include "core/rulekit/taso/operators.h"
#include "core/rulekit/taso/ranks.h"

namespace reverie {
namespace {

using Tensor = TasoLayout::Tensor;

TasoExtent sum(const TasoExtent& a, const TasoExtent& b) {
  TasoExtent result = a;
  result.insert(result.end(), b.begin(), b.end());
  std::sort(result.begin(), result.end());
  return result;
}

class LayoutMaker {
 public:
  LayoutMaker(const TasoRule& rule, const std::function<int(int)>& choose)
      : rule_(rule), ranks_(rule), choose_(choose) {}

  TasoLayout run() {
    for (const auto* side : {&rule_.source, &rule_.target})
      for (const TasoOp& op : *side)
        for (const TasoTensor& input : op.inputs)
          if (input.op < 0) add_input(input);
    add_side(rule_.source, true);
    layout_.target_equations = layout_.equations.size();
    add_side(rule_.target, false);
    layout_.output_equations = layout_.equations.size();
    for (const TasoOutput& output : rule_.outputs) {
      const Tensor& source = layout_.source_tensor(output.source);
      const Tensor& target = layout_.target_tensor(output.target);
      for (size_t axis = 0; axis < source.shape.size(); ++axis)
        equal(source.shape[axis], target.shape[axis]);
    }
    return std::move(layout_);
  }

 private:
  TasoExtent add_symbol(TasoLayout::Symbol symbol) {
    layout_.symbols.push_back(std::move(symbol));
    return {static_cast<int>(layout_.symbols.size()) - 1};
  }
  TasoExtent symbol(TasoTensor tensor, int axis, bool source = true) {
    return add_symbol({tensor, axis, source, {}, {}});
  }
  TasoExtent literal(int64_t value) { return add_symbol({{}, 0, false, value, {}}); }
  TasoExtent product_of(const TasoExtent& a, const TasoExtent& b) {
    return add_symbol({{}, 0, false, {}, {a, b}});
  }
  void equal(const TasoExtent& a, const TasoExtent& b) {
    if (a != b) layout_.equations.emplace_back(a, b);
  }

  void add_input(TasoTensor input) {
    if (layout_.inputs.contains(input.op)) return;
    const int rank = ranks_.rank(true, input, choose_);
    if (ranks_.fixed(true, input)) layout_.fixed_ranks[input.op] = rank;
    Tensor& tensor = layout_.inputs[input.op];
    for (int axis = 0; axis < rank; ++axis) tensor.shape.push_back(symbol(input, axis));
    tensor.pieces.resize(tensor.shape.size());
  }

  void add_side(const std::vector<TasoOp>& side, bool source) {
    source_ = source;
    for (index_ = 0; index_ < static_cast<int>(side.size()); ++index_) {
      const TasoOp& op = side[static_cast<size_t>(index_)];
      std::vector<Tensor> inputs;
      for (const TasoTensor& input : op.inputs)
        inputs.push_back(source ? layout_.source_tensor(input) : layout_.target_tensor(input));
      std::vector<Tensor> outputs = apply(op, inputs);
      (source ? layout_.source : layout_.target).push_back(std::move(outputs));
    }
  }

  std::vector<Tensor> apply(const TasoOp& op, std::vector<Tensor>& in) {
    if (taso_facts(op.type).constant()) return {constant(op)};
    switch (op.type) {
      case taso_op::kConv:
        return {convolution(op, in[0], in[1])};
      case taso_op::kMatMul:
        return {product(in[0], in[1])};
      case taso_op::kConcat:
        return {joined(in, axis_of(op))};
      case taso_op::kSplit:
        return source_ ? parted(op, index_, in[0]) : parted(op, in[0]);
      case taso_op::kReshape:
        return {merged(in[0], axis_of(op))};
      case taso_op::kTranspose:
        return {transposed(op, in[0])};
      case taso_op::kEnlarge:
        return {enlarged(op, in[0])};
      case taso_op::kReduceSum:
        return {reduced(op, in[0])};
      case taso_op::kScale:
        return {in[0]};
      default:
        break;
    }
    for (size_t i = 1; i < in.size(); ++i)
      for (size_t axis = 0; axis < in[0].shape.size(); ++axis) {
        equal(in[0].shape[axis], in[i].shape[axis]);
        if (in[0].pieces[axis].empty()) in[0].pieces[axis] = in[i].pieces[axis];
      }
    return {in[0]};
  }

  Tensor constant(const TasoOp& op) {
    const TasoTensor self{index_, 0};
    Tensor result;
    if (op.type == taso_op::kOne) {
      const int rank = ranks_.rank(source_, self, choose_);
      for (int axis = 0; axis < rank; ++axis) result.shape.push_back(symbol(self, axis, source_));
    } else {
      const TasoExtent first = symbol(self, 0, source_);
      result.shape = {first, op.type == taso_op::kPoolKernel ? literal(1) : first};
      if (op.type != taso_op::kIdentityMatrix)
        for (const int64_t extent : kernel_of(op)) result.shape.push_back(literal(extent));
    }
    result.pieces.resize(result.shape.size());
    return result;
  }

  Tensor merged(const Tensor& in, size_t k) {
    const auto axis = static_cast<int>(k);
    Tensor result = in;
    result.shape.erase(result.shape.begin() + axis);
    result.pieces.erase(result.pieces.begin() + axis);
    result.shape[k] = product_of(in.shape[k], in.shape[k + 1]);
    result.pieces[k].clear();
    for (const TasoExtent& piece : in.pieces[k])
      result.pieces[k].push_back(product_of(piece, in.shape[k + 1]));
    return result;
  }

  static Tensor transposed(const TasoOp& op, const Tensor& in) {
    Tensor result;
    for (const int axis : permutation_of(op)) {
      result.shape.push_back(in.shape[static_cast<size_t>(axis)]);
      result.pieces.push_back(in.pieces[static_cast<size_t>(axis)]);
    }
    return result;
  }

  Tensor enlarged(const TasoOp& op, const Tensor& in) {
    Tensor result = in;
    for (const size_t axis : {2, 3}) {
      result.shape[axis] = literal(kernel_of(op)[axis - 2]);
      result.pieces[axis].clear();
      layout_.limits.emplace_back(in.shape[axis], result.shape[axis]);
    }
    return result;
  }

  Tensor reduced(const TasoOp& op, const Tensor& in) {
    const size_t k = axis_of(op);
    Tensor result = in;
    result.shape[k] = literal(1);
    result.pieces[k].clear();
    if (!drops_dimension(op)) return result;
    result.shape.erase(result.shape.begin() + static_cast<int64_t>(k));
    result.pieces.erase(result.pieces.begin() + static_cast<int64_t>(k));
    return result;
  }

  static size_t axis_of(const TasoOp& op) {
    return static_cast<size_t>(op.parameter(taso_key::kAxis, 0));
  }

  Tensor convolution(const TasoOp& op, const Tensor& x, const Tensor& w) {
    const bool stated = op.parameters.contains(taso_key::kGroup);
    layout_.convolutions.push_back({x.shape[1], w.shape[1], w.shape[0], source_ && !stated});
    if (stated) {
      constexpr int kMostGroups = 64;
      const int groups = op.parameter(taso_key::kGroup, 1);
      if (groups < 1 || groups > kMostGroups)
        throw InputError("a convolution of {} groups", groups);
      TasoExtent channels;
      for (int group = 0; group < groups; ++group) channels = sum(channels, w.shape[1]);
      equal(x.shape[1], channels);
    }
    return {{x.shape[0], w.shape[0], x.shape[2], x.shape[3]},
            {x.pieces[0], w.pieces[0], x.pieces[2], x.pieces[3]}};
  }

  Tensor product(const Tensor& a, const Tensor& b) {
    const size_t rank = a.shape.size();
    Tensor result = a;
    for (size_t axis = 0; axis + 2 < rank; ++axis) equal(a.shape[axis], b.shape[axis]);
    equal(a.shape[rank - 1], b.shape[rank - 2]);
    result.shape[rank - 1] = b.shape[rank - 1];
    result.pieces[rank - 1] = b.pieces[rank - 1];
    return result;
  }

  Tensor joined(const std::vector<Tensor>& in, size_t k) {
    Tensor result = in[0];
    result.pieces[k] = {in[0].shape[k]};
    for (size_t i = 1; i < in.size(); ++i) {
      for (size_t axis = 0; axis < result.shape.size(); ++axis)
        if (axis != k) equal(result.shape[axis], in[i].shape[axis]);
      result.shape[k] = sum(result.shape[k], in[i].shape[k]);
      result.pieces[k].push_back(in[i].shape[k]);
    }
    if (source_) source_parts_.emplace_back(result.shape[k], result.pieces[k]);
    return result;
  }

  /// A Split of the source may part its input anywhere.
  std::vector<Tensor> parted(const TasoOp& op, int index, const Tensor& in) {
    const size_t k = axis_of(op);
    std::vector<Tensor> parts;
    std::vector<TasoExtent> pieces;
    TasoExtent whole;
    for (int output = 0; output < op.outputs(); ++output) {
      Tensor part = in;
      part.shape[k] = symbol({index, output}, static_cast<int>(k));
      part.pieces[k].clear();
      pieces.push_back(part.shape[k]);
      whole = sum(whole, part.shape[k]);
      parts.push_back(std::move(part));
    }
    equal(in.shape[k], whole);
    source_parts_.emplace_back(in.shape[k], pieces);
    return parts;
  }

  /// Whether the source says, in one step, that both are equal.
  bool known_equal(const TasoExtent& a, const TasoExtent& b) const {
    TasoGroups groups;
    for (size_t i = 0; i < layout_.symbols.size(); ++i) groups.add();
    const auto source = std::span(layout_.equations).first(layout_.target_equations);
    for (const auto& [x, y] : source)
      if (x.size() == 1 && y.size() == 1) groups.join(x[0], y[0]);
    const auto roots = [&](TasoExtent extent) {
      for (int& symbol : extent) symbol = groups.root(symbol);
      std::sort(extent.begin(), extent.end());
      return extent;
    };
    const TasoExtent first = roots(a), second = roots(b);
    return first == second || std::any_of(source.begin(), source.end(), [&](const auto& equation) {
             const TasoExtent x = roots(equation.first), y = roots(equation.second);
             return (x == first && y == second) || (x == second && y == first);
           });
  }

  /// A Split of the target parts where its input was joined, or where the source joins or parts an
  /// equal extent.
  std::vector<Tensor> parted(const TasoOp& op, Tensor in) {
    const size_t k = axis_of(op);
    for (const auto& [whole, pieces] : source_parts_)
      if (in.pieces[k].empty() && known_equal(in.shape[k], whole) &&
          static_cast<int>(pieces.size()) == op.outputs()) {
        in.pieces[k] = pieces;
        (op.inputs[0].op < 0 ? layout_.inputs.at(op.inputs[0].op)
                             : layout_.target[static_cast<size_t>(op.inputs[0].op)]
                                             [static_cast<size_t>(op.inputs[0].output)])
            .pieces[k] = pieces;
      }
    if (static_cast<int>(in.pieces[k].size()) != op.outputs())
      throw InputError(
          "the target parts a tensor into {} along axis {}, and nothing says where: it "
          "was not joined of as many",
          op.outputs(), k);
    std::vector<Tensor> parts;
    for (const TasoExtent& piece : in.pieces[k]) {
      parts.push_back(in);
      parts.back().shape[k] = piece;
      parts.back().pieces[k].clear();
    }
    return parts;
  }

  const TasoRule& rule_;
  TasoRanks ranks_;
  const std::function<int(int)>& choose_;
  TasoLayout layout_;
  /// Extents that a Split of the source parts or a Concat joins, and of what.
  std::vector<std::pair<TasoExtent, std::vector<TasoExtent>>> source_parts_;
  /// The operator at hand.
  bool source_ = true;
  int index_ = 0;
};

int64_t value_of(const TasoExtent& extent, const std::vector<int64_t>& values) {
  return std::accumulate(extent.begin(), extent.end(), int64_t{0}, [&](int64_t sum, int symbol) {
    return sum + values[static_cast<size_t>(symbol)];
  });
}

const Tensor& tensor_of(const TasoLayout& layout, const std::vector<std::vector<Tensor>>& side,
                        TasoTensor tensor) {
  if (tensor.op < 0) return layout.inputs.at(tensor.op);
  return side[static_cast<size_t>(tensor.op)][static_cast<size_t>(tensor.output)];
}

bool fulfilled(const TasoLayout& layout, const std::vector<int64_t>& values) {
  for (size_t i = 0; i < values.size(); ++i) {
    const TasoLayout::Symbol& symbol = layout.symbols[i];
    if (symbol.literal && *symbol.literal != values[i]) return false;
    if (!symbol.factors.empty() &&
        value_of(symbol.factors[0], values) * value_of(symbol.factors[1], values) != values[i])
      return false;
  }
  for (const auto& [a, b] : layout.equations)
    if (value_of(a, values) != value_of(b, values)) return false;
  for (const auto& [a, b] : layout.limits)
    if (value_of(a, values) > value_of(b, values)) return false;
  for (const auto& convolution : layout.convolutions) {
    const int64_t channels = value_of(convolution.channels, values);
    const int64_t per_group = value_of(convolution.filter_channels, values);
    if (channels % per_group != 0 ||
        value_of(convolution.filters, values) % (channels / per_group) != 0)
      return false;
  }
  return true;
}

}  // namespace

const Tensor& TasoLayout::source_tensor(TasoTensor tensor) const {
  return tensor_of(*this, source, tensor);
}
const Tensor& TasoLayout::target_tensor(TasoTensor tensor) const {
  return tensor_of(*this, target, tensor);
}

bool TasoLayout::keeps_groups(const TasoRule& rule) const {
  const auto depths = [](const Tensor& x, const Tensor& w) {
    return std::pair(x.shape[1], w.shape[1]);
  };
  std::set<std::pair<TasoExtent, TasoExtent>> known;
  for (const TasoOp& op : rule.source)
    if (op.type == taso_op::kConv)
      known.insert(depths(source_tensor(op.inputs[0]), source_tensor(op.inputs[1])));
  return std::all_of(rule.target.begin(), rule.target.end(), [&](const TasoOp& op) {
    return op.type != taso_op::kConv || op.parameters.contains(taso_key::kGroup) ||
           known.contains(depths(target_tensor(op.inputs[0]), target_tensor(op.inputs[1])));
  });
}

TasoLayout lay_out(const TasoRule& rule, const std::function<int(int least)>& choose) {
  return LayoutMaker(rule, choose).run();
}

std::optional<std::vector<int64_t>> draw_extents(const TasoLayout& layout, Rng& rng) {
  TasoGroups groups;
  for (size_t i = 0; i < layout.symbols.size(); ++i) groups.add();
  for (const auto& [a, b] : layout.equations)
    if (a.size() == 1 && b.size() == 1) groups.join(a[0], b[0]);
  static constexpr int64_t kExtents[] = {1, 1, 2, 2, 3, 3, 4, 4, 6, 8, 12};
  std::vector<int64_t> values(layout.symbols.size());
  for (int64_t& value : values) value = kExtents[rng.below(std::size(kExtents))];
  const auto set_group = [&](size_t symbol, int64_t value) {
    for (size_t i = 0; i < values.size(); ++i)
      if (groups.root(static_cast<int>(i)) == groups.root(static_cast<int>(symbol)))
        values[i] = value;
  };
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = values[static_cast<size_t>(groups.root(static_cast<int>(i)))];
  for (size_t i = 0; i < values.size(); ++i)
    if (layout.symbols[i].literal) set_group(i, *layout.symbols[i].literal);
  for (const auto& [a, b] : layout.equations)
    if ((a.size() == 1) != (b.size() == 1))
      set_group(static_cast<size_t>((a.size() == 1 ? a : b)[0]),
                value_of(a.size() == 1 ? b : a, values));
  for (size_t i = 0; i < values.size(); ++i)
    if (const auto& factors = layout.symbols[i].factors; !factors.empty())
      set_group(i, value_of(factors[0], values) * value_of(factors[1], values));
  if (!fulfilled(layout, values)) return {};
  return values;
}

Shape shape_of(const TasoLayout::Tensor& tensor, const std::vector<int64_t>& values) {
  Shape shape;
  for (const TasoExtent& extent : tensor.shape) shape.push_back(value_of(extent, values));
  return shape;
}

std::string taso_name(char side, TasoTensor tensor, int outputs) {
  if (tensor.op < 0) return fmt::format("x{}", -static_cast<int64_t>(tensor.op));
  if (outputs == 1) return fmt::format("{}{}", side, tensor.op);
  return fmt::format("{}{}_{}", side, tensor.op, tensor.output);
}

}  // namespace reverie
