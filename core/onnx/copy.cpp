#include "core/onnx/copy.h"

#include <string>

#include "core/base/error.h"
#include "core/base/files.h"

namespace reverie {
namespace {

namespace fs = std::filesystem;

void copy_aside(const fs::path& from, const fs::path& to) {
  AsideFile aside(to.string());
  std::error_code error;
  fs::copy_file(from, aside.temporary(), fs::copy_options::overwrite_existing, error);
  if (error) throw InputError("{}: cannot be written: {}", to.string(), error.message());
  aside.commit();
}

}  // namespace

void copy_model(const fs::path& from, const ModelInfo& info, const fs::path& to) {
  std::error_code none;
  if (fs::equivalent(from, to, none)) return;
  for (const std::string& location : info.external_files) {
    const fs::path data = to.parent_path() / location;
    if (fs::equivalent(from.parent_path() / location, data, none)) continue;
    if (!data.parent_path().empty()) fs::create_directories(data.parent_path(), none);
    copy_aside(from.parent_path() / location, data);
  }
  copy_aside(from, to);
}

}  // namespace reverie
