#include "env/named_files.h"

#include <filesystem>
#include <functional>

#include "core/base/error.h"
#include "core/base/files.h"

namespace reverie {
namespace {

namespace fs = std::filesystem;

void change_paths(EnvironmentConfig& config,
                  const std::function<std::string(const std::string&)>& change) {
  for (std::string& input : config.inputs) input = change(input);
  for (const EnvironmentKind* kind : environment_kinds()) kind->change_files(config, change);
}

bool is_file(const fs::path& path) {
  return file_exists(path.string()) && !is_directory(path.string());
}

}  // namespace

EnvironmentConfig relative_to(const std::string& folder, EnvironmentConfig config) {
  const fs::path from = fs::weakly_canonical(fs::absolute(folder));
  change_paths(config, [&](const std::string& name) {
    return is_file(name) ? fs::canonical(name).lexically_relative(from).string() : name;
  });
  return config;
}

EnvironmentConfig found_from(const std::string& folder, const std::string& elsewhere,
                             EnvironmentConfig config) {
  change_paths(config, [&](const std::string& name) {
    const fs::path other = fs::path(elsewhere) / fs::path(name).filename();
    if (!elsewhere.empty() && is_file(other)) return other.string();
    const fs::path beside = (fs::path(folder) / name).lexically_normal();
    return is_file(beside) ? beside.string() : name;
  });
  for (const std::string& input : config.inputs)
    if (input.find(':') == std::string::npos && !is_file(input))
      throw InputError("{} is not there, seen from {}: give the folder that holds it by --inputs",
                       input, folder);
  return config;
}

}  // namespace reverie
