#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace reverie {
namespace {

namespace fs = std::filesystem;

/// Each folder, or file, and the folders that it may include from, itself aside. An entry covers
/// its subfolders unless one of them has an entry of its own.
const std::map<std::string, std::vector<std::string>> kAllowed = {
    {"core/base", {}},
    {"core/report", {"core/base"}},
    {"core/ir", {"core/base"}},
    {"core/hdf5", {"core/base", "core/ir"}},
    {"core/exec", {"core/base", "core/ir"}},
    {"core/exec/cpu", {"core/base", "core/ir", "core/exec"}},
    {"core/exec/cuda", {"core/base", "core/ir", "core/exec"}},
    {"core/onnx", {"core/base", "core/ir", "core/exec"}},
    {"core/cost",
     {"core/base", "core/ir", "core/hdf5", "core/exec", "core/exec/cpu", "core/exec/cuda"}},
    {"core/ort", {"core/base", "core/ir", "core/exec", "core/cost", "core/onnx"}},
    {"core/rules", {"core/base", "core/ir", "core/exec", "core/cost"}},
    {"core/models", {"core/base", "core/ir", "core/exec"}},
    {"core/models/zoo", {"core/base", "core/ir"}},
    {"core/rulekit", {"core/base", "core/ir", "core/exec", "core/rules"}},
    {"core/search", {"core/base"}},
    {"env", {"core"}},
    {"env/solvers", {"core", "env"}},
    {"env/toy", {"core", "env"}},
    {"env/rewrite/search", {"core", "env"}},
    {"env/rewrite/optimize", {"core", "env", "env/rewrite/search"}},
    {"env/rewrite/solvers", {"core", "env", "env/rewrite/search"}},
    {"env/rewrite", {"core", "env", "env/rewrite/search", "env/rewrite/optimize"}},
    {"env/adapt", {"core", "env"}},
    {"env/adapt/solvers", {"core", "env", "env/adapt"}},
    {"env/adapt/train", {"core", "env/adapt"}},
    {"env/placement/graph", {"core"}},
    {"env/placement/simulator", {"core", "env/placement/graph"}},
    {"env/placement/search", {"core", "env", "env/placement/graph", "env/placement/simulator"}},
    {"env/placement/report",
     {"core", "env/placement/graph", "env/placement/simulator", "env/placement/search"}},
    {"env/placement/machine",
     {"core", "env/placement", "env/placement/graph", "env/placement/simulator",
      "env/placement/search", "env/placement/report"}},
    {"env/placement",
     {"core", "env", "env/placement/graph", "env/placement/simulator", "env/placement/search",
      "env/placement/report"}},
    {"env/placement/kind.cpp",
     {"core", "env", "env/placement", "env/placement/graph", "env/placement/simulator",
      "env/placement/machine"}},
    {"env/placement/solvers",
     {"core", "env", "env/placement", "env/placement/simulator", "env/placement/search"}},
    {"datasets", {"core", "env"}},
    {"worldmodel/network", {"core", "env", "datasets"}},
    {"worldmodel/batch", {"core", "env", "datasets", "worldmodel/network"}},
    {"worldmodel/encoder", {"core", "env", "datasets", "worldmodel/network", "worldmodel/batch"}},
    {"worldmodel/memory",
     {"core", "env", "datasets", "worldmodel/network", "worldmodel/batch", "worldmodel/encoder"}},
    {"worldmodel/latent",
     {"core", "env", "datasets", "worldmodel/network", "worldmodel/batch", "worldmodel/encoder",
      "worldmodel/memory"}},
    {"controller/policy", {"core", "env", "datasets", "worldmodel"}},
    {"controller/train", {"core", "env", "datasets", "worldmodel", "controller/policy"}},
    {"controller/modelfree",
     {"core", "env", "datasets", "worldmodel", "controller/policy", "controller/train"}},
    {"controller/validate",
     {"core", "env", "datasets", "worldmodel", "controller/policy", "controller/train"}},
    {"controller/evaluate",
     {"core", "env", "datasets", "worldmodel", "controller/policy", "controller/train"}},
    {"controller/rounds",
     {"core", "env", "datasets", "worldmodel", "controller/policy", "controller/train",
      "controller/validate"}},
    {"controller/agents",
     {"core", "env", "datasets", "worldmodel", "controller/policy", "controller/train"}},
    {"tools", {"core", "env", "datasets", "worldmodel", "controller"}},
};

bool is_within(const std::string& path, const std::string& folder) {
  return path == folder || path.starts_with(folder + "/");
}

/// The longest entry of kAllowed that covers `path`; empty where none does.
std::string owner_of(const std::string& path) {
  std::string best;
  for (const auto& [folder, unused] : kAllowed)
    if (is_within(path, folder) && folder.size() > best.size()) best = folder;
  return best;
}

/// Elsewhere a top folder in kAllowed stands for all folders in it, but for the one that finds and
/// proves rules: only the commands know it.
bool may_include(const std::string& owner, const std::string& target) {
  if (owner_of(target) == owner) return true;
  if (is_within(target, "core/rulekit")) return owner == "tools";
  const auto& allowed = kAllowed.at(owner);
  return std::any_of(allowed.begin(), allowed.end(), [&](const std::string& folder) {
    return is_within(target, folder) &&
           (!kAllowed.count(folder) || owner_of(target) == folder ||
            (folder.find('/') == std::string::npos && !is_within(owner, folder)));
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
          result.push_back(
              {fs::relative(entry.path(), root), line.substr(10, line.rfind('"') - 10)});
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

TEST(Layout, LibTorchBeginsAtTheWorldModelButForRealTraining) {
  for (const Include& include : own_includes()) {
    if (include.target != "<torch>") continue;
    EXPECT_TRUE(is_within(include.file, "worldmodel") || is_within(include.file, "controller") ||
                is_within(include.file, "tools") || is_within(include.file, "env/adapt/train"))
        << include.file;
  }
}

/// What no file to the right of env/ may include: it serves whatever environment there is.
bool knows_an_environment(const std::string& target) {
  if (target == "core/ir/half.h") return false;  // a number format
  for (const char* folder :
       {"env/rewrite", "env/toy", "env/placement", "env/adapt", "env/solvers", "env/kind.h",
        "env/named_files.h", "core/rules", "core/rulekit", "core/onnx", "core/ir", "core/search",
        "core/cost", "core/exec", "core/models", "core/ort"})
    if (is_within(target, folder)) return true;
  return false;
}

const std::vector<std::string> kGeneral = {"datasets", "worldmodel", "controller"};

/// Published agents are the exception: each is one environment's.
bool is_general(const std::string& file) {
  if (is_within(file, "controller/agents")) return false;
  return std::ranges::any_of(kGeneral, [&](const auto& folder) { return is_within(file, folder); });
}

TEST(Layout, NothingRightOfTheEnvironmentsIncludesWhatOnlyOneOfThemNeeds) {
  int seen = 0;
  for (const Include& include : own_includes()) {
    if (!is_general(include.file)) continue;
    ++seen;
    EXPECT_FALSE(knows_an_environment(include.target))
        << include.file << " must not include " << include.target;
  }
  EXPECT_GT(seen, 50);
  EXPECT_TRUE(knows_an_environment("env/rewrite/measure_graphs.h"));
  EXPECT_TRUE(knows_an_environment("env/kind.h"));
  EXPECT_TRUE(knows_an_environment("core/search/algorithms.h"));
  for (const char* general : {"env/environment.h", "env/task.h", "env/solver.h"})
    EXPECT_FALSE(knows_an_environment(general)) << general;
  EXPECT_TRUE(is_general("controller/train/ppo.h"));
  EXPECT_FALSE(is_general("controller/agents/go.cpp"));
}

/// The forbidden words of a line, comments included.
std::vector<std::string> words_of_environments(const std::string& line) {
  static const std::regex words(
      "rewrit|(^|[^a-z])rules?([^a-z]|$)|onnx|millisecond|cost_ms|dynamic_cast|"
      "knapsack|(^|[^a-z])toy",
      std::regex::icase);
  static const std::regex types("Rule[A-Z]");
  std::vector<std::string> found;
  for (const std::regex* forbidden : {&words, &types})
    for (std::sregex_iterator at(line.begin(), line.end(), *forbidden), end; at != end; ++at)
      found.push_back(at->str());
  return found;
}

TEST(Layout, NothingRightOfTheEnvironmentsSpeaksOfOneOfThem) {
  const fs::path root = REVERIE_SOURCE_DIR;
  int files = 0;
  for (const std::string& top : kGeneral)
    for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
      const std::string extension = entry.path().extension();
      if (extension != ".h" && extension != ".cpp" && entry.path().filename() != "CMakeLists.txt")
        continue;
      if (!is_general(fs::relative(entry.path(), root))) continue;
      ++files;
      std::ifstream source(entry.path());
      int number = 0;
      for (std::string line; std::getline(source, line);) {
        ++number;
        EXPECT_THAT(words_of_environments(line), ::testing::IsEmpty())
            << fs::relative(entry.path(), root) << ":" << number << ": " << line;
      }
    }
  EXPECT_GT(files, 50);
  for (const char* line : {"a rule of it", "RuleSet set;", "run_rule_list()", "OnnxModel",
                           "int cost_ms;", "RewriteState", "dynamic_cast<A>(b)", "milliseconds()"})
    EXPECT_THAT(words_of_environments(line), ::testing::SizeIs(1)) << line;
  for (const char* line : {"bool schedule", "a ruler", "cost_share", "static_cast<A>(b)"})
    EXPECT_THAT(words_of_environments(line), ::testing::IsEmpty()) << line;
}

TEST(Layout, TheRuleItselfTellsRightFromWrong) {
  EXPECT_TRUE(may_include("core/search", "core/base/random.h"));
  EXPECT_FALSE(may_include("core/search", "core/rules/rule.h"));
  EXPECT_FALSE(may_include("core/search", "core/ir/graph.h"));
  EXPECT_TRUE(may_include("core/exec/cpu", "core/exec/executor.h"));
  EXPECT_TRUE(may_include("core/cost", "core/exec/cpu/cpu_executor.h"));
  EXPECT_FALSE(may_include("core/ir", "core/exec/executor.h"));
  EXPECT_FALSE(may_include("core/exec", "core/exec/cpu/cpu_executor.h"));
  EXPECT_FALSE(may_include("core/rules", "env/rewrite/search/search.h"));
  EXPECT_TRUE(may_include("core/rulekit", "core/rules/rule.h"));
  EXPECT_TRUE(may_include("tools", "core/rulekit/prove/prove.h"));
  for (const char* engine : {"core/rules", "core/search", "env", "env/rewrite/search", "datasets",
                             "worldmodel/network", "controller/evaluate"})
    EXPECT_FALSE(may_include(engine, "core/rulekit/prove/prove.h")) << engine;
  EXPECT_FALSE(may_include("core/onnx", "core/cost/cost_model.h"));
  EXPECT_FALSE(may_include("env", "datasets/episode.h"));
  EXPECT_TRUE(may_include("controller/policy", "worldmodel/memory/world_model.h"));
  EXPECT_TRUE(may_include("controller/rounds", "controller/validate/validation.h"));
  EXPECT_FALSE(may_include("worldmodel/encoder", "worldmodel/memory/world_model.h"));
  EXPECT_FALSE(may_include("controller/train", "controller/validate/validation.h"));
  EXPECT_TRUE(may_include("controller/agents", "controller/train/ppo.h"));
  EXPECT_FALSE(may_include("controller/policy", "controller/agents/go.h"));
  EXPECT_TRUE(may_include("env/adapt/train", "env/adapt/job.h"));
  EXPECT_FALSE(may_include("env", "env/adapt/train/module.h"));
  EXPECT_TRUE(may_include("env/rewrite", "env/solver.h"));
  EXPECT_TRUE(may_include("env/rewrite/search", "env/solver.h"));
  EXPECT_TRUE(may_include("env/rewrite", "env/rewrite/optimize/confirm.h"));
  EXPECT_TRUE(may_include("env/placement/kind.cpp", "env/placement/machine/on_devices.h"));
  EXPECT_FALSE(may_include("env/placement", "env/placement/machine/on_devices.h"));
  EXPECT_FALSE(may_include("env", "env/rewrite/rewrite_task.h"));
  EXPECT_FALSE(may_include("env/adapt", "env/rewrite/rewrite_task.h"));
  EXPECT_FALSE(may_include("env/rewrite/search", "env/rewrite/rewrite_task.h"));
  EXPECT_FALSE(may_include("env/rewrite/search", "env/rewrite/optimize/confirm.h"));
  EXPECT_FALSE(may_include("env/adapt/train", "worldmodel/network/torch.h"));
}

/// Calls that change the state of the whole process.
std::vector<std::string> process_wide_calls(const std::string& line) {
  std::vector<std::string> found;
  for (const char* name :
       {"manual_seed(", "malloc_trim(", "mallopt(", "setenv(", "putenv(", "setlocale(", "srand("}) {
    const size_t at = line.find(name);
    if (at == std::string::npos) continue;
    const char before = at == 0 ? ' ' : line[at - 1];
    if (std::isalnum(static_cast<unsigned char>(before)) == 0 && before != '_')
      found.emplace_back(name);
  }
  return found;
}

TEST(Layout, LibrariesChangeNoStateOfTheProcess) {
  const fs::path root = REVERIE_SOURCE_DIR;
  int files = 0;
  for (const char* top : {"core", "env", "datasets", "worldmodel", "controller"})
    for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
      const std::string extension = entry.path().extension();
      if (extension != ".h" && extension != ".cpp" && extension != ".cu") continue;
      ++files;
      std::ifstream source(entry.path());
      for (std::string line; std::getline(source, line);)
        EXPECT_THAT(process_wide_calls(line), ::testing::IsEmpty())
            << fs::relative(entry.path(), root) << ": " << line;
    }
  EXPECT_GT(files, 300);
  EXPECT_THAT(process_wide_calls("torch::manual_seed(1); malloc_trim(0);"), ::testing::SizeIs(2));
  EXPECT_THAT(process_wide_calls("reset_env(1)"), ::testing::IsEmpty());
}

int column_limit() {
  std::ifstream format(fs::path(REVERIE_SOURCE_DIR) / ".clang-format");
  for (std::string line; std::getline(format, line);)
    if (line.starts_with("ColumnLimit: ")) return std::stoi(line.substr(13));
  return 0;
}

/// Numbers of the lines that are longer than `limit` characters and not part of a raw string.
std::vector<int> long_lines(std::istream& source, size_t limit) {
  static const std::regex opening("R\"([a-z]*)\\(");
  std::vector<int> found;
  std::string end;  // of the raw string that the line is in; empty outside of one
  int number = 0;
  for (std::string line; std::getline(source, line);) {
    ++number;
    std::smatch opens;
    size_t from = 0;
    if (end.empty() && std::regex_search(line, opens, opening)) {
      end = ")" + opens.str(1) + "\"";
      from = static_cast<size_t>(opens.position() + opens.length());
    }
    const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
    const size_t length = line.size() - std::ranges::count_if(line, continues);
    if (end.empty() && length > limit) found.push_back(number);
    if (!end.empty() && line.find(end, from) != std::string::npos) end.clear();
  }
  return found;
}

TEST(Layout, LinesAreNoLongerThanTheFormatSays) {
  const int limit = column_limit();
  ASSERT_EQ(limit, 100);
  const fs::path root = REVERIE_SOURCE_DIR;
  int files = 0;
  for (const char* top :
       {"core", "env", "datasets", "worldmodel", "controller", "tools", "tests", "experiments"})
    for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
      const std::string extension = entry.path().extension();
      if (extension != ".h" && extension != ".cpp" && extension != ".cu") continue;
      ++files;
      std::ifstream source(entry.path());
      for (const int number : long_lines(source, static_cast<size_t>(limit)))
        ADD_FAILURE() << fs::relative(entry.path(), root).string() << ":" << number
                      << ": longer than " << limit << " characters; run clang-format";
    }
  EXPECT_GT(files, 500);
  std::istringstream sample("12345\n123456\nf(R\"x(123456)\"\n123456)x\");\n123456");
  EXPECT_THAT(long_lines(sample, 5), ::testing::ElementsAre(2, 5));
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
