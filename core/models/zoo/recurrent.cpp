#include <fmt/format.h>

#include "core/models/zoo/forms.h"
#include "core/models/zoo/kinds.h"
#include "core/models/zoo/layers.h"

namespace reverie::zoo {
namespace {

struct Recurrence {
  const char* op;  ///< LSTM or GRU
  int64_t gates, inputs, hidden, directions;
};

/// Zeros of (directions, batch, hidden); x is (length, batch, inputs).
Value initial_state(Net& net, const Value& x, const Recurrence& r) {
  const Value shape =
      shape_of(net, {net.integer(r.directions), extent(net, x, 1), net.integer(r.hidden)});
  return net.add("ConstantOfShape", {shape}, {{"value", floats_tensor({1}, {0})}});
}

/// (length, batch, directions * hidden).
Value recurrent(Net& net, const Value& x, const std::string& name, const Recurrence& r) {
  const Module module(net, name);
  const int64_t rows = r.gates * r.hidden;
  Values inputs = {x, net.weight("W", {r.directions, rows, r.inputs}, r.inputs),
                   net.weight("R", {r.directions, rows, r.hidden}, r.hidden),
                   net.weight("B", {r.directions, 2 * rows}, 25), ""};
  inputs.push_back(initial_state(net, x, r));
  const bool lstm = r.op == std::string("LSTM");
  if (lstm) inputs.push_back(initial_state(net, x, r));
  Attributes attributes = {{"hidden_size", r.hidden}};
  if (r.directions == 2) attributes.push_back({"direction", std::string("bidirectional")});
  if (!lstm) attributes.push_back({"linear_before_reset", int64_t{1}});
  const Value y = net.add_many(r.op, inputs, lstm ? 3 : 2, attributes)[0];
  if (r.directions == 1) return squeeze(net, y, {1});
  return reshape(net, transpose(net, y, {0, 2, 1, 3}), {0, 0, -1});
}

/// x.squeeze(0), as it is exported where the extent is not known: only if it is 1.
Value maybe_squeezed(Net& net, const Value& x, int64_t rows, int64_t columns) {
  const Value one = net.add("Equal", {extent(net, x, 0), net.integer(1)});
  const onnx::GraphProto yes = net.subgraph("squeezed", [&] {
    net.output("squeezed", squeeze(net, x, {0}), kFloat, {rows, columns});
  });
  const onnx::GraphProto no = net.subgraph("kept", [&] {
    net.output("kept", net.add("Identity", {x}), kFloat, {"rows", rows, columns});
  });
  return net.add("If", {one}, {{"then_branch", yes}, {"else_branch", no}});
}

/// One gate of a recurrent cell: x W + h R + b.
Value gate(Net& net, const Value& x, const Value& h, const std::string& name, int64_t inputs,
           int64_t hidden) {
  const Module module(net, name);
  return net.add("Add", {gemm(net, x, "ih", inputs, hidden), gemm(net, h, "hh", hidden, hidden)});
}

/// A GRU cell in its parts.
Value gru_cell(Net& net, const Value& x, const Value& h, int64_t inputs, int64_t hidden) {
  const Value reset = sigmoid(net, gate(net, x, h, "reset", inputs, hidden));
  const Value update = sigmoid(net, gate(net, x, h, "update", inputs, hidden));
  const Value inner = gemm(net, h, "new.hh", hidden, hidden);
  const Value fresh = net.add(
      "Tanh",
      {net.add("Add", {gemm(net, x, "new.ih", inputs, hidden), net.add("Mul", {reset, inner})})});
  const Value keep = net.add("Mul", {update, h});
  const Value rest = net.add("Sub", {net.number(1), update});
  return net.add("Add", {net.add("Mul", {rest, fresh}), keep});
}

}  // namespace

void lstm_tagger(Net& net) {
  const Value ids = net.input("tokens", kInt64, {"batch", "sequence"});
  Value x = transpose(net, embedding(net, ids, "embedding", 4000, 128), {1, 0, 2});
  x = recurrent(net, x, "lstm", {"LSTM", 4, 128, 256, 1});
  x = transpose(net, x, {1, 0, 2});
  const Value logits = linear(net, x, "hidden2tag", 256, 48);
  net.output("tags", net.add("LogSoftmax", {logits}, {{"axis", int64_t{2}}}), kFloat,
             {"batch", "sequence", 48});
}

void gru_classifier(Net& net) {
  Value x = net.input("frames", kFloat, {"sequence", 1, 40});
  x = recurrent(net, x, "gru", {"GRU", 3, 40, 192, 1});
  const Value last = net.add("Gather", {x, net.integer(-1)}, {{"axis", int64_t{0}}});
  const Value logits = gemm(net, relu(net, last), "fc", 192, 35);
  const Value chance = maybe_squeezed(net, unsqueeze(net, softmax(net, logits, 1), {0}), 1, 35);
  net.output("output", net.add("Identity", {chance}), kFloat, {1, 35});
}

void bilstm_stack(Net& net) {
  Value x = net.input("features", kFloat, {"sequence", "batch", 80});
  x = recurrent(net, x, "lstm.0", {"LSTM", 4, 80, 128, 2});
  x = recurrent(net, x, "lstm.1", {"LSTM", 4, 256, 128, 2});
  x = dropout(net, x);
  const Value scores = linear(net, x, "fc", 256, 64);
  net.output("output", scores, kFloat, {"sequence", "batch", 64});
}

void loop_decoder(Net& net) {
  constexpr int64_t kHidden = 256, kVocabulary = 1000;
  const Value features = net.input("features", kFloat, {1, 512});
  const Value first = net.add("Tanh", {gemm(net, features, "init_h", 512, kHidden)});
  const Value start = net.ints({1});
  const onnx::GraphProto body = net.subgraph("body", [&] {
    net.input("step", kInt64, {});
    const Value go = net.input("go", kBool, {});
    const Value h = net.input("h", kFloat, {1, kHidden});
    const Value token = net.input("token", kInt64, {1});
    const Value x = embedding(net, token, "embed", kVocabulary, kHidden);
    const Value next = gru_cell(net, x, h, kHidden, kHidden);
    const Value logits = gemm(net, next, "out", kHidden, kVocabulary);
    const Value best =
        net.add("ArgMax", {logits}, {{"axis", int64_t{1}}, {"keepdims", int64_t{0}}});
    net.output("go_out", net.add("Identity", {go}), kBool, {});
    net.output("h_out", next, kFloat, {1, kHidden});
    net.output("token_out", best, kInt64, {1});
    net.output("logits_step", logits, kFloat, {1, kVocabulary});
  });
  const Value count = net.integer(12);
  const Value yes = net.constant(bools_tensor({}, {true}));
  const Values results = net.add_many("Loop", {count, yes, first, start}, 3, {{"body", body}});
  const Value logits = transpose(net, results[2], {1, 0, 2});
  net.output("logits", net.add("LogSoftmax", {logits}, {{"axis", int64_t{2}}}), kFloat,
             {1, "steps", kVocabulary});
}

void scan_rnn(Net& net) {
  constexpr int64_t kHidden = 128;
  const Value x = net.input("x", kFloat, {48, 64});
  const Value h0 = net.constant(floats_tensor({1, kHidden}, Floats(kHidden, 0)));
  const Value wide = linear(net, relu(net, linear(net, x, "in", 64, 256)), "in2", 256, kHidden);
  const onnx::GraphProto body = net.subgraph("cell", [&] {
    const Value h = net.input("h", kFloat, {1, kHidden});
    const Value row = net.input("row", kFloat, {kHidden});
    const Value next = gru_cell(net, unsqueeze(net, row, {0}), h, kHidden, kHidden);
    const Value copy = net.add("Identity", {next});
    net.output("state", next, kFloat, {1, kHidden});
    net.output("emitted", copy, kFloat, {1, kHidden});
  });
  const Values results =
      net.add_many("Scan", {h0, wide}, 2, {{"body", body}, {"num_scan_inputs", int64_t{1}}});
  const Value rows = squeeze(net, results[1], {1});
  net.output("y", linear(net, rows, "head", kHidden, 64), kFloat, {48, 64});
}

}  // namespace reverie::zoo
