#include "core/rules/taso/layout.h"

#include <algorithm>
#include <numeric>

#include "core/base/error.h"

namespace reverie {
namespace {

using Tensor = TasoLayout::Tensor;

class Groups {
 public:
  int add() {
    parent_.push_back(static_cast<int>(parent_.size()));
    return parent_.back();
  }
  int root(int item) const {
    while (parent_[static_cast<size_t>(item)] != item) item = parent_[static_cast<size_t>(item)];
    return item;
  }
  void join(int a, int b) { parent_[static_cast<size_t>(root(b))] = root(a); }

 private:
  std::vector<int> parent_;
};

void check_inputs(const TasoOp& op) {
  const bool unary = op.type == taso_op::kRelu || op.type == taso_op::kSigmoid ||
                     op.type == taso_op::kTanh || op.type == taso_op::kSplit;
  const bool binary = op.type == taso_op::kConv || op.type == taso_op::kAdd ||
                      op.type == taso_op::kMul || op.type == taso_op::kMatMul;
  if (!unary && !binary && op.type != taso_op::kConcat)
    throw InputError("operator type {} is not one that is understood (Conv2D 3, Relu 8, Sigmoid 9, "
                     "Tanh 10, Concat 12, Split 13, Add 16, Mul 17, MatMul 18)", op.type);
  const size_t least = binary ? 2 : 1;
  if (op.inputs.size() < least || (op.type != taso_op::kConcat && op.inputs.size() != least))
    throw InputError("operator type {} has {} inputs", op.type, op.inputs.size());
}

/// Which tensors have equal ranks, and what fixes them.
class Ranks {
 public:
  explicit Ranks(const TasoRule& rule) {
    for (const bool source : {true, false})
      for (const TasoOp& op : source ? rule.source : rule.target)
        for (const TasoTensor& input : op.inputs) of(source, input);
    add(rule.source, true);
    add(rule.target, false);
    for (const TasoOutput& output : rule.outputs)
      groups_.join(of(true, output.source), of(false, output.target));
    for (const auto& [item, rank] : fixed_) {
      const auto [at, fresh] = by_root_.emplace(groups_.root(item), rank);
      if (!fresh && at->second != rank)
        throw InputError("a tensor would have {} and {} dimensions", at->second, rank);
    }
    for (const int item : at_least_two_) least_[groups_.root(item)] = 2;
    for (const auto& [item, axis] : axes_)
      least_[groups_.root(item)] = std::max(least_[groups_.root(item)], axis + 1);
  }

  bool fixed(TasoTensor input) { return by_root_.contains(groups_.root(of(true, input))); }
  /// `choose` is asked once per group.
  int rank(TasoTensor input, const std::function<int(int)>& choose) {
    const int root = groups_.root(of(true, input));
    const int least = std::max(1, least_[root]);
    if (const auto at = by_root_.find(root); at != by_root_.end()) {
      if (at->second < least) throw InputError("{} dimensions are too few", at->second);
      return at->second;
    }
    const auto [at, fresh] = chosen_.emplace(root, 0);
    if (fresh) at->second = choose(least);
    return at->second;
  }

 private:
  /// External inputs are the same on both sides.
  int of(bool source, TasoTensor tensor) {
    const auto key = std::pair(source || tensor.op < 0, tensor);
    const auto at = items_.find(key);
    return at != items_.end() ? at->second : items_.emplace(key, groups_.add()).first->second;
  }

  void add(const std::vector<TasoOp>& side, bool source) {
    for (int i = 0; i < static_cast<int>(side.size()); ++i) {
      const TasoOp& op = side[static_cast<size_t>(i)];
      check_inputs(op);
      const int first = of(source, op.inputs[0]);
      for (const TasoTensor& input : op.inputs) groups_.join(first, of(source, input));
      for (int output = 0; output < op.outputs(); ++output)
        groups_.join(first, of(source, {i, output}));
      if (op.type == taso_op::kConv) fixed_.emplace_back(first, 4);
      if (op.type == taso_op::kMatMul) at_least_two_.push_back(first);
      if (op.type != taso_op::kConcat && op.type != taso_op::kSplit) continue;
      const int axis = op.parameter(taso_key::kAxis, -1);
      const int rank = op.parameter(taso_key::kRank, 0);
      constexpr int kMostDimensions = 8;
      if (axis < 0 || axis >= kMostDimensions || rank > kMostDimensions)
        throw InputError("axis {} of {} dimensions", axis, rank);
      axes_.emplace_back(first, axis);
      if (rank > 0) fixed_.emplace_back(first, rank);
    }
  }

  Groups groups_;
  std::map<std::pair<bool, TasoTensor>, int> items_;
  std::vector<std::pair<int, int>> fixed_, axes_;
  std::vector<int> at_least_two_;
  std::map<int, int> by_root_, least_, chosen_;
};

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
    add_side(rule_.target, false);
    for (const TasoOutput& output : rule_.outputs) {
      const Tensor& source = layout_.source_tensor(output.source);
      const Tensor& target = layout_.target_tensor(output.target);
      for (size_t axis = 0; axis < source.shape.size(); ++axis)
        equal(source.shape[axis], target.shape[axis]);
    }
    return std::move(layout_);
  }

 private:
  TasoExtent symbol(TasoTensor tensor, int axis) {
    layout_.symbols.emplace_back(tensor, axis);
    return {static_cast<int>(layout_.symbols.size()) - 1};
  }
  void equal(const TasoExtent& a, const TasoExtent& b) {
    if (a != b) layout_.equations.emplace_back(a, b);
  }

  void add_input(TasoTensor input) {
    if (layout_.inputs.contains(input.op)) return;
    const int rank = ranks_.rank(input, choose_);
    if (ranks_.fixed(input)) layout_.fixed_ranks[input.op] = rank;
    Tensor& tensor = layout_.inputs[input.op];
    for (int axis = 0; axis < rank; ++axis) tensor.shape.push_back(symbol(input, axis));
    tensor.pieces.resize(tensor.shape.size());
  }

  void add_side(const std::vector<TasoOp>& side, bool source) {
    for (size_t i = 0; i < side.size(); ++i) {
      std::vector<Tensor> inputs;
      for (const TasoTensor& input : side[i].inputs)
        inputs.push_back(source ? layout_.source_tensor(input) : layout_.target_tensor(input));
      std::vector<Tensor> outputs = apply(side[i], static_cast<int>(i), inputs, source);
      (source ? layout_.source : layout_.target).push_back(std::move(outputs));
    }
  }

  std::vector<Tensor> apply(const TasoOp& op, int index, std::vector<Tensor>& in, bool source) {
    switch (op.type) {
      case taso_op::kConv: return {convolution(op, in[0], in[1], source)};
      case taso_op::kMatMul: return {product(in[0], in[1])};
      case taso_op::kConcat: return {joined(in, axis_of(op))};
      case taso_op::kSplit: return source ? parted(op, index, in[0]) : parted(op, in[0]);
      default: break;
    }
    for (size_t i = 1; i < in.size(); ++i)
      for (size_t axis = 0; axis < in[0].shape.size(); ++axis) {
        equal(in[0].shape[axis], in[i].shape[axis]);
        if (in[0].pieces[axis].empty()) in[0].pieces[axis] = in[i].pieces[axis];
      }
    return {in[0]};
  }

  static size_t axis_of(const TasoOp& op) {
    return static_cast<size_t>(op.parameter(taso_key::kAxis, 0));
  }

  Tensor convolution(const TasoOp& op, const Tensor& x, const Tensor& w, bool source) {
    const bool stated = op.parameters.contains(taso_key::kGroup);
    layout_.convolutions.push_back({x.shape[1], w.shape[1], w.shape[0], source && !stated});
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
    if (op.inputs[0].op < 0) layout_.inputs[op.inputs[0].op].pieces[k] = pieces;
    return parts;
  }

  /// A Split of the target parts where its input was joined.
  std::vector<Tensor> parted(const TasoOp& op, const Tensor& in) {
    const size_t k = axis_of(op);
    if (static_cast<int>(in.pieces[k].size()) != op.outputs())
      throw InputError("the target parts a tensor into {} along axis {}, and nothing says where: it "
                       "was not joined of as many", op.outputs(), k);
    std::vector<Tensor> parts;
    for (const TasoExtent& piece : in.pieces[k]) {
      parts.push_back(in);
      parts.back().shape[k] = piece;
      parts.back().pieces[k].clear();
    }
    return parts;
  }

  const TasoRule& rule_;
  Ranks ranks_;
  const std::function<int(int)>& choose_;
  TasoLayout layout_;
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

}  // namespace

const Tensor& TasoLayout::source_tensor(TasoTensor tensor) const {
  return tensor_of(*this, source, tensor);
}
const Tensor& TasoLayout::target_tensor(TasoTensor tensor) const {
  return tensor_of(*this, target, tensor);
}

TasoLayout lay_out(const TasoRule& rule, const std::function<int(int least)>& choose) {
  return LayoutMaker(rule, choose).run();
}

std::optional<std::vector<int64_t>> draw_extents(const TasoLayout& layout, Rng& rng) {
  Groups groups;
  for (size_t i = 0; i < layout.symbols.size(); ++i) groups.add();
  for (const auto& [a, b] : layout.equations)
    if (a.size() == 1 && b.size() == 1) groups.join(a[0], b[0]);
  static constexpr int64_t kExtents[] = {1, 2, 2, 3, 3, 4, 4, 6};
  std::vector<int64_t> values(layout.symbols.size());
  for (int64_t& value : values) value = kExtents[rng.below(std::size(kExtents))];
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = values[static_cast<size_t>(groups.root(static_cast<int>(i)))];
  for (const auto& [a, b] : layout.equations)
    if (value_of(a, values) != value_of(b, values)) return {};
  for (const auto& convolution : layout.convolutions) {
    const int64_t channels = value_of(convolution.channels, values);
    const int64_t per_group = value_of(convolution.filter_channels, values);
    if (channels % per_group != 0 ||
        value_of(convolution.filters, values) % (channels / per_group) != 0)
      return {};
  }
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
