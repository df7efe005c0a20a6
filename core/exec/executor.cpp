#include "core/exec/executor.h"

namespace reverie {

Tensor materialized(const Weight& weight) { return weight.materialize(); }

}  // namespace reverie
