#include "worldmodel/encoder/graph_encoder.h"

namespace reverie::encoders {

RegisteredEncoder gn();

RegisteredEncoder random() {
  return {"random", "gn that is never trained, a control for comparisons", /*trained=*/false,
          gn().make};
}

}  // namespace reverie::encoders
