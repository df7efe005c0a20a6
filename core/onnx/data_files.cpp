#include "core/onnx/data_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/onnx/external.h"
#include "core/onnx/tensors.h"
#include "core/onnx/wire.h"

namespace reverie::proto {
namespace {

namespace fs = std::filesystem;

bool holds_weights_in(const fs::path& model, const std::string& location) {
  bool holds = false;
  try {
    onnx::ModelProto parsed = parse_model(InputFile(model));
    visit_tensors(&parsed,
                  [&](onnx::TensorProto* tensor) { holds |= location_of(*tensor) == location; });
  } catch (const InputError&) {  // no model
  }
  return holds;
}

bool is_of_another_model(const fs::path& data, const fs::path& model) {
  std::error_code error;
  const fs::path folder = data.parent_path().empty() ? fs::path(".") : data.parent_path();
  const auto uses_it = [&](const fs::directory_entry& entry) {
    return entry.path().extension() == ".onnx" && !fs::equivalent(entry.path(), model, error) &&
           holds_weights_in(entry.path(), data.filename().string());
  };
  return std::any_of(fs::directory_iterator(folder, error), fs::directory_iterator(), uses_it);
}

}  // namespace

fs::path DataFileNames::next() {
  while (true) {
    ++last_;
    fs::path data = model_;
    data += last_ == 1 ? ".data" : fmt::format(".{}.data", last_);
    if (!file_exists(data.string())) return data;
    if (holds_weights_in(model_, data.filename().string()) && !is_of_another_model(data, model_))
      return data;
  }
}

std::string location_of(const onnx::TensorProto& tensor) {
  if (tensor.data_location() != onnx::TensorProto::EXTERNAL) return {};
  const auto& data = tensor.external_data();
  const auto entry =
      std::ranges::find_if(data, [](const auto& one) { return one.key() == "location"; });
  return entry == data.end() ? std::string() : entry->value();
}

}  // namespace reverie::proto
