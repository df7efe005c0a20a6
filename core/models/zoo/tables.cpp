#include <fmt/format.h>

#include "core/models/zoo/forms.h"
#include "core/models/zoo/kinds.h"
#include "core/models/zoo/layers.h"

/// Networks on graphs, tables and identifiers.
namespace reverie::zoo {
namespace {

Value perceptron(Net& net, Value x, const std::string& name, const Ints& widths) {
  const Module module(net, name);
  for (size_t i = 0; i + 1 < widths.size(); ++i)
    x = relu(net, gemm(net, x, fmt::format("{}", 2 * i), widths[i], widths[i + 1]));
  return x;
}

/// One column of identifiers.
Value feature(Net& net, const Value& ids, int64_t index) {
  return net.add("Gather", {ids, net.integer(index)}, {{"axis", int64_t{1}}});
}

/// Row `index` of an edge list (2, edges).
Value ends(Net& net, const Value& edges, int64_t index) {
  return net.add("Gather", {edges, net.integer(index)}, {{"axis", int64_t{0}}});
}

/// What the edges carry, summed at their targets (Gilmer et al. 2017).
Value message_layer(Net& net, const Value& x, const Value& edges, int64_t inputs, int64_t outputs) {
  const Value source = net.add("Gather", {x, ends(net, edges, 0)}, {{"axis", int64_t{0}}});
  const Value target = net.add("Gather", {x, ends(net, edges, 1)}, {{"axis", int64_t{0}}});
  const Value both = concat(net, {target, net.add("Sub", {source, target})}, -1);
  const Value message = relu(net, linear(net, both, "edge", 2 * inputs, outputs));
  const Value shape = shape_of(net, {extent(net, x, 0), net.integer(outputs)});
  const Value zeros = net.add("ConstantOfShape", {shape}, {{"value", floats_tensor({1}, {0})}});
  const Value column = unsqueeze(net, ends(net, edges, 1), {1});
  const Value index = net.add("Expand", {column, net.add("Shape", {message})});
  const Value sum = net.add("ScatterElements", {zeros, index, message},
                            {{"axis", int64_t{0}}, {"reduction", std::string("add")}});
  return net.add("Add", {linear(net, x, "root", inputs, outputs), sum});
}

}  // namespace

void gcn(Net& net) {
  const Value x = net.input("x", kFloat, {128, 256});
  const Value adjacency = net.input("adjacency", kFloat, {128, 128});
  const Value absolute = net.add("Abs", {adjacency});
  const Value degree = reduce(net, "ReduceSum", absolute, {1});
  const Value root =
      net.add("Pow", {net.add("Add", {degree, net.number(1e-3f)}), net.number(-0.5f)});
  const Value rows = net.add("Mul", {absolute, root});
  const Value normal = net.add("Mul", {rows, transpose(net, root, {1, 0})});
  Value y = net.add("MatMul", {normal, linear(net, x, "conv1.lin", 256, 128, false)});
  y = dropout(net, relu(net, net.add("Add", {y, net.offset("conv1.bias", 128)})));
  y = net.add("MatMul", {normal, linear(net, y, "conv2.lin", 128, 40, false)});
  y = net.add("Add", {y, net.offset("conv2.bias", 40)});
  net.output("output", net.add("LogSoftmax", {y}, {{"axis", int64_t{1}}}), kFloat, {128, 40});
}

void message_passing(Net& net) {
  const Value x = net.input("x", kFloat, {"nodes", 32});
  const Value edges = net.input("edge_index", kInt64, {2, "edges"});
  Value y;
  {
    const Module module(net, "conv1");
    y = relu(net, message_layer(net, x, edges, 32, 128));
  }
  {
    const Module module(net, "conv2");
    y = relu(net, message_layer(net, y, edges, 128, 128));
  }
  const Value mean = reduce(net, "ReduceMean", y, {0});
  net.output("output", gemm(net, mean, "lin", 128, 16), kFloat, {1, 16});
}

void kv_update(Net& net) {
  const Value memory = net.input("memory", kFloat, {128, 64});
  const Value slots = net.input("slots", kInt64, {16});
  const Value rows = net.input("rows", kFloat, {16, 64});
  const Value fresh =
      linear(net, relu(net, linear(net, rows, "write.0", 64, 256)), "write.2", 256, 64);
  const Value kept = net.add("ScatterND", {memory, unsqueeze(net, slots, {1}), fresh});
  const Value keys = linear(net, kept, "key", 64, 64, false);
  const Value scores = net.add("MatMul", {fresh, transpose(net, keys, {1, 0})});
  const Value weights = softmax(net, net.add("Div", {scores, net.number(8)}), 1);
  const Value read = net.add("MatMul", {weights, kept});
  net.output("read", linear(net, read, "out", 64, 64), kFloat, {16, 64});
  net.output("memory_out", kept, kFloat, {128, 64});
}

void wide_and_deep(Net& net) {
  const Value ids = net.input("ids", kInt64, {"batch", 8});
  const Value numbers = net.input("numbers", kFloat, {"batch", 13});
  Values columns, wide;
  for (int64_t i = 0; i < 8; ++i) {
    const Value picked = feature(net, ids, i);
    columns.push_back(embedding(net, picked, fmt::format("embeddings.{}", i), 2000, 32));
    wide.push_back(embedding(net, picked, fmt::format("wide.{}", i), 2000, 1));
  }
  columns.push_back(batch_norm(net, numbers, "bn", 13));
  const Value deep = perceptron(net, concat(net, columns, 1), "deep", {269, 512, 256, 128});
  Value sum = gemm(net, deep, "head", 128, 1);
  for (const Value& value : wide) sum = net.add("Add", {sum, value});
  net.output("output", sigmoid(net, squeeze(net, sum, {1})), kFloat, {"batch"});
}

void dlrm(Net& net) {
  constexpr int64_t kFeatures = 6, kSize = 64, kAll = kFeatures + 1;
  const Value dense = net.input("dense_x", kFloat, {"batch", 13});
  const Value ids = net.input("ids", kInt64, {"batch", kFeatures});
  const Value bottom = perceptron(net, dense, "bot_l", {13, 512, 256, kSize});
  Values rows = {unsqueeze(net, bottom, {1})};
  for (int64_t i = 0; i < kFeatures; ++i)
    rows.push_back(unsqueeze(
        net, embedding(net, feature(net, ids, i), fmt::format("emb_l.{}", i), 2000, kSize), {1}));
  const Value all = concat(net, rows, 1);
  const Value dots = net.add("MatMul", {all, transpose(net, all, {0, 2, 1})});
  const Value flat = view(net, dots, {extent(net, dots, 0), net.integer(kAll * kAll)});
  Ints pairs;
  for (int64_t i = 0; i < kAll; ++i)
    for (int64_t j = 0; j < i; ++j) pairs.push_back(i * kAll + j);
  const Value below = net.add("Gather", {flat, net.ints(pairs)}, {{"axis", int64_t{1}}});
  const int64_t width = kSize + static_cast<int64_t>(pairs.size());
  const Value top = perceptron(net, concat(net, {bottom, below}, 1), "top_l", {width, 512, 256});
  net.output("output", sigmoid(net, gemm(net, top, "top_l.last", 256, 1)), kFloat, {"batch", 1});
}

void mlp(Net& net) {
  const Value x = net.input("input", kFloat, {"batch", 784});
  Value y = perceptron(net, flatten_by_shape(net, x), "layers", {784, 1024, 1024, 512});
  y = gemm(net, dropout(net, y), "layers.last", 512, 10);
  net.output("output", net.add("LogSoftmax", {y}, {{"axis", int64_t{1}}}), kFloat, {"batch", 10});
}

}  // namespace reverie::zoo
