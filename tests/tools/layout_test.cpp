#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace reverie {
namespace {

namespace fs = std::filesystem;

/// Each folder and the folders that it may include from, itself aside. An entry covers its
/// subfolders unless one of them has an entry of its own.
const std::map<std::string, std::vector<std::string>> kAllowed = {
    {"core/base", {}},
    {"core/report", {"core/base"}},
    {"core/ir", {"core/base"}},
    {"core/hdf5", {"core/base", "core/ir"}},
    {"core/exec", {"core/base", "core/ir"}},
    {"core/exec/cpu", {"core/base", "core/ir", "core/exec"}},
    {"core/exec/cuda", {"core/base", "core/ir", "core/exec"}},
    {"core/onnx", {"core/base", "core/ir", "core/exec"}},
    {"core/cost", {"core/base", "core/ir", "core/hdf5", "core/exec", "core/exec/cpu", "core/exec/cuda"}},
    {"core/ort", {"core/base", "core/ir", "core/exec", "core/cost", "core/onnx"}},
    {"core/rules", {"core/base", "core/ir", "core/exec", "core/cost"}},
    {"core/models", {"core/base", "core/ir", "core/exec"}},
    {"core/models/zoo", {"core/base", "core/ir"}},
    {"core/search", {"core"}},
    {"env", {"core"}},
    {"datasets", {"core", "env"}},
    {"worldmodel", {"core", "env", "datasets"}},
    {"controller", {"core", "env", "datasets", "worldmodel"}},
    {"tools", {"core", "env", "datasets", "worldmodel", "controller"}},
};

bool is_within(const std::string& path, const std::string& folder) {
  return path.starts_with(folder + "/");
}

/// The longest entry of kAllowed that covers `path`; empty where none does.
std::string owner_of(const std::string& path) {
  std::string best;
  for (const auto& [folder, unused] : kAllowed)
    if (is_within(path, folder) && folder.size() > best.size()) best = folder;
  return best;
}

bool may_include(const std::string& owner, const std::string& target) {
  if (owner_of(target) == owner) return true;
  const auto& allowed = kAllowed.at(owner);
  return std::any_of(allowed.begin(), allowed.end(), [&](const std::string& folder) {
    return is_within(target, folder) && (!kAllowed.count(folder) || owner_of(target) == folder ||
                                         folder.find('/') == std::string::npos);
  });
}

struct Include {
  std::string file;
  std::string target;
};

std::vector<Include> own_includes() {
  const fs::path root = REVERIE_SOURCE_DIR;
  std::vector<Include> result;
  for (const char* top : {"core", "env", "datasets", "worldmodel", "controller", "tools"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
      const std::string extension = entry.path().extension();
      if (extension != ".h" && extension != ".cpp" && extension != ".cu") continue;
      std::ifstream source(entry.path());
      for (std::string line; std::getline(source, line);)
        if (line.starts_with("#include \""))
          result.push_back({fs::relative(entry.path(), root),
                            line.substr(10, line.rfind('"') - 10)});
        else if (line.starts_with("#include <torch/") || line.starts_with("#include <ATen/"))
          result.push_back({fs::relative(entry.path(), root), "<torch>"});
    }
  }
  return result;
}

TEST(Layout, IncludesFollowTheDirectionOfDependencies) {
  const std::vector<Include> includes = own_includes();
  ASSERT_GT(includes.size(), 50u);
  for (const Include& include : includes) {
    if (include.target == "<torch>") continue;
    const std::string owner = owner_of(include.file);
    if (owner.empty()) ADD_FAILURE() << include.file << " lies in no known folder";
    EXPECT_TRUE(may_include(owner, include.target))
        << include.file << " must not include " << include.target;
  }
}

TEST(Layout, LibTorchBeginsAtTheWorldModel) {
  for (const Include& include : own_includes()) {
    if (include.target != "<torch>") continue;
    EXPECT_TRUE(is_within(include.file, "worldmodel") || is_within(include.file, "controller") ||
                is_within(include.file, "tools"))
        << include.file;
  }
}

TEST(Layout, TheRuleItselfTellsRightFromWrong) {
  EXPECT_TRUE(may_include("core/search", "core/rules/rule.h"));
  EXPECT_TRUE(may_include("core/exec/cpu", "core/exec/executor.h"));
  EXPECT_TRUE(may_include("core/cost", "core/exec/cpu/cpu_executor.h"));
  EXPECT_FALSE(may_include("core/ir", "core/exec/executor.h"));
  EXPECT_FALSE(may_include("core/exec", "core/exec/cpu/cpu_executor.h"));
  EXPECT_FALSE(may_include("core/rules", "core/search/search.h"));
  EXPECT_FALSE(may_include("core/onnx", "core/cost/cost_model.h"));
  EXPECT_FALSE(may_include("env", "datasets/episode.h"));
}

TEST(Layout, NothingElseIsVisibleAtTheTop) {
  const std::set<std::string> agreed = {"CMakeLists.txt", "README.md",  "core",  "env",
                                        "worldmodel",     "controller", "tests", "datasets",
                                        "experiments",    "tools",      "runs"};
  for (const auto& entry : fs::directory_iterator(REVERIE_SOURCE_DIR)) {
    const std::string name = entry.path().filename();
    if (name.starts_with('.') || name.starts_with("build")) continue;
    EXPECT_TRUE(agreed.count(name)) << name;
  }
}

}  // namespace
}  // namespace reverie
