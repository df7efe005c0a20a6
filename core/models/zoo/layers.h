#pragma once

#include "core/models/zoo/net.h"

/// Layers with weights, as PyTorch's exporter spells them. Each is a module of the given name.
namespace reverie::zoo {

struct Window {
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t pad = 0;
  int64_t groups = 1;
  int64_t dilation = 1;
  bool bias = true;
  int64_t rank = 2;  ///< spatial axes
};
/// A kernel with enough padding to keep the extent at stride 1, without bias.
Window same(int64_t kernel, int64_t stride = 1, int64_t groups = 1);

/// What follows a convolution. `kFolded`: a bias, where the exporter has folded the normalization.
enum class Norm { kKept, kFolded };

Value conv(Net& net, const Value& x, const std::string& name, int64_t inputs, int64_t outputs,
           Window window);
Value conv_transpose(Net& net, const Value& x, const std::string& name, int64_t inputs,
                     int64_t outputs, const Window& window);
Value batch_norm(Net& net, const Value& x, const std::string& name, int64_t channels,
                 float epsilon = 1e-5f);
/// Convolution and normalization; modules NAME.0 and NAME.1.
Value conv_norm(Net& net, const Value& x, const std::string& name, int64_t inputs, int64_t outputs,
                const Window& window, Norm norm);

/// On a matrix: Gemm with transposed weights. Otherwise: MatMul and Add.
Value gemm(Net& net, const Value& x, const std::string& name, int64_t inputs, int64_t outputs);
Value linear(Net& net, const Value& x, const std::string& name, int64_t inputs, int64_t outputs,
             bool bias = true);
Value embedding(Net& net, const Value& ids, const std::string& name, int64_t rows, int64_t size);
/// Over the last axis; nine nodes before opset 17.
Value layer_norm(Net& net, const Value& x, const std::string& name, int64_t size,
                 float epsilon = 1e-5f);
/// InstanceNormalization of x viewed as (batch, groups, -1), then scale and offset of `channels`
/// followed by `spatial` axes.
Value group_norm(Net& net, const Value& x, const std::string& name, int64_t groups,
                 int64_t channels, int64_t spatial);
Value instance_norm(Net& net, const Value& x, const std::string& name, int64_t channels);

Value relu(Net& net, const Value& x);
Value relu6(Net& net, const Value& x);
Value silu(Net& net, const Value& x);
Value gelu(Net& net, const Value& x);
/// The approximation by tanh.
Value gelu_tanh(Net& net, const Value& x);
/// x * clip(x + 3, 0, 6) / 6 in its parts.
Value hard_swish(Net& net, const Value& x);
Value hard_sigmoid(Net& net, const Value& x);

using Activation = Value (*)(Net&, const Value&);
Value squeeze_excite(Net& net, const Value& x, const std::string& name, int64_t channels,
                     int64_t inner, Activation inside, Activation gate);
Value sigmoid(Net& net, const Value& x);

Value max_pool(Net& net, const Value& x, int64_t kernel, int64_t stride, int64_t pad = 0,
               bool ceil = false);
Value average_pool(Net& net, const Value& x, int64_t kernel, int64_t stride, int64_t pad = 0);
/// Global mean as a matrix.
Value pooled(Net& net, const Value& x);

struct Attention {
  int64_t hidden;
  int64_t heads;
  Value mask;            ///< is added to the scores; none where empty
  bool divide = true;    ///< scores / sqrt(size) instead of query * 1 / sqrt(size)
  bool by_shape = true;  ///< batch and length come from Shape, as they are symbolic
};
/// Self-attention on (batch, length, hidden), with modules query, key, value and output.dense.
Value attention(Net& net, const Value& x, const std::string& name, const Attention& options);

}  // namespace reverie::zoo
