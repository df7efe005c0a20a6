#pragma once

#include <onnx/onnx_pb.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/random.h"

/// Writes ONNX graphs node by node. Private to core/models/zoo.
namespace reverie::zoo {

using Value = std::string;  ///< its name; empty: an optional input that is left out
using Values = std::vector<Value>;
using Ints = std::vector<int64_t>;
using Floats = std::vector<float>;

/// An extent, or the name of one that is only known at run time.
using Dim = std::variant<int64_t, std::string>;
using Dims = std::vector<Dim>;

using Attribute =
    std::variant<int64_t, float, std::string, Ints, Floats, onnx::TensorProto, onnx::GraphProto>;
using Attributes = std::vector<std::pair<std::string, Attribute>>;

inline constexpr int32_t kFloat = onnx::TensorProto::FLOAT;
inline constexpr int32_t kHalf = onnx::TensorProto::FLOAT16;
inline constexpr int32_t kInt64 = onnx::TensorProto::INT64;
inline constexpr int32_t kInt32 = onnx::TensorProto::INT32;
inline constexpr int32_t kBool = onnx::TensorProto::BOOL;

onnx::TensorProto floats_tensor(const Ints& dims, const Floats& values);
onnx::TensorProto ints_tensor(const Ints& dims, const Ints& values);
onnx::TensorProto bools_tensor(const Ints& dims, const std::vector<bool>& values);
/// Of element type INT8, UINT8, INT32: one of `values` each.
onnx::TensorProto small_ints_tensor(int32_t type, const Ints& dims, const Ints& values);

/// A model under construction. Values are called as PyTorch's exporter calls them: by numbers up to
/// opset 12, by the path of their module after.
class Net {
 public:
  /// `half`: floating constants and weights are written as float16.
  Net(const std::string& name, int opset, uint64_t seed, bool half = false);

  int opset() const { return opset_; }
  int32_t floating() const { return half_ ? kHalf : kFloat; }

  Value input(const std::string& name, int32_t type, const Dims& dims);
  /// Declares an output and gives `value`, which a node has computed, its name.
  void output(const std::string& name, const Value& value, int32_t type, const Dims& dims);

  /// A node and the name of its first output.
  Value add(const std::string& op, const Values& inputs, const Attributes& attributes = {});
  /// A node with `count` outputs.
  Values add_many(const std::string& op, const Values& inputs, size_t count,
                  const Attributes& attributes = {});

  // Constant nodes.
  Value number(float value);
  Value integer(int64_t value);
  Value ints(const Ints& values);
  Value constant(const onnx::TensorProto& tensor);

  // Initializers, called by the path of the current module and `name`; asked for twice, it is the
  // one that is there, as where layers share their weights.
  /// Random, centred, with variance gain / fan_in.
  Value weight(const std::string& name, const Ints& dims, int64_t fan_in, double gain = 1);
  /// Random around 0 with standard deviation 0.2.
  Value offset(const std::string& name, int64_t size) { return drawn(name, {size}, 0.2); }
  /// Uniform in [0.5, 1.5).
  Value positive(const std::string& name, const Ints& dims);
  Value initializer(const std::string& name, onnx::TensorProto tensor);
  /// The same values as floats, as float16 where the net is of that type.
  Value floats(const std::string& name, const Ints& dims, const Floats& values);

  /// The floats that weight() would store.
  Floats draw(const std::string& name, size_t count, double deviation);

  /// What `body` adds becomes a graph of its own; it declares inputs and outputs as above and may
  /// use values from outside.
  onnx::GraphProto subgraph(const std::string& name, const std::function<void()>& body);

  std::string finish();

 private:
  friend class Module;

  std::string path(const std::string& name, char separator) const;
  Value drawn(const std::string& name, const Ints& dims, double deviation);
  bool has_initializer(const std::string& name) const {
    return initializers_.count(path(name, '.')) > 0;
  }
  Value fresh(size_t index, const std::string& node);
  std::string node_name(const std::string& op);

  onnx::ModelProto model_;
  onnx::GraphProto* graph_;
  int opset_;
  bool half_;
  Rng rng_;
  std::vector<std::string> modules_;
  std::map<std::string, int> uses_;
  std::set<std::string> initializers_;
  int nodes_ = 0;
  int values_ = 0;
};

/// While it lives, what is added to the net belongs to this part of the current module.
class Module {
 public:
  Module(Net& net, const std::string& name) : net_(net) { net_.modules_.push_back(name); }
  ~Module() { net_.modules_.pop_back(); }
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

 private:
  Net& net_;
};

}  // namespace reverie::zoo
