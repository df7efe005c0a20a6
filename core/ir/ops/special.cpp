#include "core/ir/ops.h"

namespace reverie::ops {

std::vector<OpSchema> special() {
  OpSchema input;
  input.name = "Input";
  input.attributes = {{.name = "name", .fallback = {}}};

  OpSchema constant;
  constant.name = "Constant";

  OpSchema opaque;
  opaque.name = "Opaque";
  opaque.max_inputs = opaque.max_outputs = OpSchema::kVariadic;
  opaque.min_outputs = 0;
  opaque.keeps_constants = true;
  opaque.attributes = {{.name = "op", .fallback = {}},
                       {.name = "domain", .fallback = {}},
                       {.name = "proto", .fallback = {}},
                       {.name = "opsets", .fallback = std::string()}};
  return {input, constant, opaque};
}

}  // namespace reverie::ops
