#include "core/onnx/declared_dimensions.h"

#include "core/base/error.h"
#include "core/onnx/proto.h"

namespace reverie {

std::vector<std::string> declared_dimensions(const ModelInfo& info, const std::string& name,
                                             const Shape& shape) {
  std::vector<std::string> names;
  const auto known = info.value_infos.find(name);
  if (known != info.value_infos.end()) {
    onnx::ValueInfoProto value;
    REVERIE_CHECK(value.ParseFromString(known->second));
    names = proto::dimension_symbols(value);
  }
  names.resize(shape.size());
  return names;
}

}  // namespace reverie
