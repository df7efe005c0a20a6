#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

/// README.md, core/README.md and the recipes show code of the program and of this folder. A block
/// whose fence names a file ("```cpp core/ir/ops.h") must stand in that file, so that no page shows
/// what no longer compiles.
namespace reverie {
namespace {

namespace fs = std::filesystem;

/// Lines without indentation.
std::string flush_left(std::istream& text) {
  std::string result, line;
  while (std::getline(text, line)) {
    const size_t begin = line.find_first_not_of(' ');
    result += (begin == std::string::npos ? "" : line.substr(begin)) + "\n";
  }
  return result;
}

std::string file_text(const std::string& name) {
  std::ifstream file(fs::path(REVERIE_SOURCE_DIR) / name);
  EXPECT_TRUE(file.good()) << name;
  return flush_left(file);
}

struct Block {
  std::string file;
  std::string text;
};

std::vector<Block> blocks_of(const fs::path& page) {
  std::vector<Block> blocks;
  std::ifstream text(page);
  std::string line;
  while (std::getline(text, line)) {
    if (!line.starts_with("```")) continue;
    const size_t blank = line.find(' ');
    Block block{blank == std::string::npos ? "" : line.substr(blank + 1), ""};
    while (std::getline(text, line) && !line.starts_with("```")) block.text += line + "\n";
    if (!block.file.empty()) blocks.push_back(block);
  }
  return blocks;
}

TEST(RecipePages, ShowCodeThatStandsInTheFilesTheyName) {
  const fs::path source = REVERIE_SOURCE_DIR;
  std::vector<fs::path> pages = {source / "README.md", source / "core/README.md"};
  for (const auto& entry : fs::directory_iterator(source / "tests/recipes"))
    if (entry.path().extension() == ".md" && entry.path().filename() != "README.md")
      pages.push_back(entry.path());
  EXPECT_GE(pages.size(), 5u);
  for (const fs::path& page : pages) {
    const std::vector<Block> blocks = blocks_of(page);
    EXPECT_FALSE(blocks.empty()) << page << " shows no code of a file";
    for (const Block& block : blocks) {
      std::istringstream text(block.text);
      EXPECT_NE(file_text(block.file).find(flush_left(text)), std::string::npos)
          << page << ": this does not stand in " << block.file << ":\n"
          << block.text;
    }
  }
}

/// Paths that the last section of a recipe lists, in its bullets; "if" and what follows is not
/// counted.
int touched_files(const std::string& page) {
  std::ifstream text(fs::path(REVERIE_SOURCE_DIR) / "tests/recipes" / page);
  EXPECT_TRUE(text.good()) << page;
  int files = 0;
  bool listed = false;
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("## ")) listed = line == "## Touched files";
    if (!listed || !line.starts_with("- ")) continue;
    const std::string sure = line.substr(0, line.find(" if "));
    files += static_cast<int>(std::ranges::count(sure, '`')) / 2;
  }
  return files;
}

TEST(RecipePages, TouchFewFiles) {
  EXPECT_EQ(touched_files("search.md"), 2) << "itself and its test";
  EXPECT_EQ(touched_files("environment.md"), 4) << "its folder, its row, its case and a text";
  EXPECT_EQ(touched_files("encoder.md"), 2) << "itself and its test";
  EXPECT_EQ(touched_files("operator.md"), 3) << "its row, its kernel and its case";
  EXPECT_EQ(touched_files("subcommand.md"), 3) << "itself, a declaration and a call";
}

}  // namespace
}  // namespace reverie
