#include "core/onnx/convert.h"

namespace reverie::proto {
namespace {

/// Of the attributes that the table does not have, those that say nothing are left out.
std::optional<Values> recurrent(Source& source) {
  source.leave_out("input_forget", int64_t{0});
  for (const char* name : {"activation_alpha", "activation_beta"})
    source.leave_out(name, std::vector<double>{});
  return convert_as_is(source);
}

}  // namespace

Converter recurrent_rule(std::string_view op) {
  return op == "LSTM" || op == "GRU" || op == "RNN" ? recurrent : nullptr;
}

}  // namespace reverie::proto
