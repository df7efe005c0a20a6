#include "core/onnx/convert.h"

namespace reverie::proto {
namespace {

/// Of the attributes that the table does not have, those that say nothing are left out.
std::optional<Values> recurrent(Source& source) {
  if (source.attributes.integer("input_forget", 0) == 0) source.attributes.erase("input_forget");
  for (const char* name : {"activation_alpha", "activation_beta"})
    if (const AttrValue* list = source.attributes.find(name);
        list != nullptr && *list == AttrValue(std::vector<double>{}))
      source.attributes.erase(name);
  return convert_as_is(source);
}

}  // namespace

Converter recurrent_rule(std::string_view op) {
  return op == "LSTM" || op == "GRU" || op == "RNN" ? recurrent : nullptr;
}

}  // namespace reverie::proto
