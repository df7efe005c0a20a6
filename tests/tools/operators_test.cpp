#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <map>

#include "core/base/json.h"
#include "core/ir/schema.h"

namespace reverie {
namespace {

using ::testing::ElementsAre;

/// What `reverie inspect --operators --json` says, by operator.
std::map<std::string, Json> operators() {
  std::FILE* pipe = popen(REVERIE_PROGRAM " inspect --operators --json", "r");
  std::string text;
  std::array<char, 4096> piece;
  while (const size_t count = std::fread(piece.data(), 1, piece.size(), pipe))
    text.append(piece.data(), count);
  EXPECT_EQ(pclose(pipe), 0);
  std::map<std::string, Json> result;
  const Json whole = Json::parse(text);
  for (const Json& line : whole.at("operators").array())
    result[line.at("name").get<std::string>()] = line;
  return result;
}

struct Kernels {
  bool reference, cpu, cuda;
  bool operator==(const Kernels&) const = default;
};

Kernels kernels(const Json& line) {
  return {line.at("reference").get<bool>(), line.at("cpu").get<bool>(),
          line.at("cuda").get<bool>()};
}

TEST(Operators, EachHasAReferenceKernelAndAnOpsetUnlessItIsNoneOfOnnx) {
  const auto all = operators();
  EXPECT_GT(all.size(), 100u);
  for (const auto& [name, line] : all) {
    const bool special = name == "Input" || name == "Constant" || name == "Opaque";
    EXPECT_EQ(line.at("reference").get<bool>(), !special) << name;
    const bool is_foreign = name == "Input" || name == "Opaque" || op_named(name).fused;
    EXPECT_EQ(line.at("onnx").array().empty(), is_foreign) << name;
  }
}

TEST(Operators, SayWhichExecutorsHaveThem) {
  const auto all = operators();
  EXPECT_EQ(kernels(all.at("Conv")), (Kernels{true, true, true}));
  EXPECT_EQ(kernels(all.at("Relu")), (Kernels{true, true, true}));
  EXPECT_EQ(kernels(all.at("Reshape")), (Kernels{true, true, true}));
  EXPECT_EQ(kernels(all.at("ConvTranspose")), (Kernels{true, true, false}));
  EXPECT_EQ(kernels(all.at("Where")), (Kernels{true, false, true}));
  EXPECT_EQ(kernels(all.at("LSTM")), (Kernels{true, false, false}));
  EXPECT_GT(all.at("Conv").at("rules").get<int>(), all.at("LSTM").at("rules").get<int>());
}

TEST(Operators, SayWhatOnnxCallsThemAndSince) {
  const auto all = operators();
  const Json& resize = all.at("Resize");
  EXPECT_THAT(resize.at("onnx").get<std::vector<std::string>>(), ElementsAre("Upsample", "Resize"));
  EXPECT_EQ(resize.at("oldest_opset").get<int>(), 1);
  EXPECT_EQ(all.at("LayerNormalization").at("oldest_opset").get<int>(), 17);
  EXPECT_EQ(all.at("LayerNormalization").at("newest_opset").get<int>(), 24);
  EXPECT_EQ(all.at("ScatterElements").at("oldest_opset").get<int>(), 9);
}

}  // namespace
}  // namespace reverie
