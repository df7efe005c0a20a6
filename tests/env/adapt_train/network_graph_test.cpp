#include "env/adapt/train/network_graph.h"

#include <gmock/gmock.h>

#include <map>
#include <span>

#include "core/exec/reference/reference.h"
#include "core/onnx/import.h"
#include "env/adapt/network_onnx.h"
#include "env/adapt/training_source.h"
#include "tests/env/adapt_train/random_network.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

/// max|a-b| / max|b|, a what the file gives for these images, b what the network gives.
double error_of_file(const std::string& path, WeightedNetwork weights,
                     const torch::Tensor& images) {
  const torch::NoGradGuard guard;
  const auto expected = weights.forward(images, Pass::kEvaluate).contiguous();
  const Graph graph = import_onnx(path, {.dims = {fmt::format("batch={}", images.size(0))}}).graph;
  const Tensor input =
      Tensor::of<float>({images.sizes().begin(), images.sizes().end()},
                        {images.data_ptr<float>(), static_cast<size_t>(images.numel())});
  const Tensor found = ReferenceExecutor().run(graph, std::span(&input, 1)).front();
  EXPECT_EQ(found.shape(), Shape(expected.sizes().begin(), expected.sizes().end()));
  const auto as_tensor =
      torch::from_blob(const_cast<float*>(found.data<float>().data()), expected.sizes());
  return ((as_tensor - expected).abs().max() / expected.abs().max()).item<double>();
}

void count(const Network& network, std::map<std::string, int>& seen) {
  for (const Block& block : network.blocks) {
    if (block.add >= 0) ++seen["residual"];
    if (block.kind == BlockKind::kConv) ++seen[block.batch_norm ? "norm" : "no norm"];
    if (block.kind == BlockKind::kMaxPool) ++seen["max pool"];
    if (block.kind == BlockKind::kAveragePool) ++seen["average pool"];
    if (block.kind == BlockKind::kGlobalPool) ++seen["global pool"];
    if (network.added(static_cast<int>(&block - network.blocks.data()))) ++seen["deepened"];
  }
}

TEST(NetworkAsOnnx, GivesWhatTheNetworkGivesBeforeAndAfterChanges) {
  torch::manual_seed(3);
  const TemporaryDirectory folder;
  const std::string path = folder / "network.onnx";
  Rng rng(5);
  std::map<std::string, int> seen;
  for (int trial = 0; trial < 25; ++trial) {
    WeightedNetwork weights = testing::worn(testing::RandomNetwork(rng).take(), rng);
    for (int step = 0; step < 3; ++step) {
      const auto images = testing::images_for(weights.network(), 1 + trial % 4);
      write_network(weights, path);
      EXPECT_LE(error_of_file(path, weights, images), kOnnxTolerance) << to_yaml(weights.network());
      EXPECT_LE(graph_error(weights, images), kOnnxTolerance);
      count(weights.network(), seen);
      const std::vector<adapt::Change> choices = testing::allowed_changes(weights.network());
      const Network next = adapt::changed(weights.network(), choices[rng.below(choices.size())]);
      if (next.blocks.size() == weights.network().blocks.size()) ++seen["widened"];
      weights = weights.changed(next, testing::images_for(weights.network(), 16), 0.5, rng);
    }
  }
  for (const char* part : {"residual", "norm", "no norm", "max pool", "average pool", "global pool",
                           "deepened", "widened"})
    EXPECT_GT(seen[part], 5) << part;
}

TEST(NetworkAsOnnx, HasTheArchitectureThatAdaptReads) {
  const TemporaryDirectory folder;
  Rng rng(6);
  for (int trial = 0; trial < 25; ++trial) {
    const WeightedNetwork weights(testing::RandomNetwork(rng).take(), rng);
    write_network(weights, folder / "network.onnx");
    EXPECT_EQ(to_yaml(network_from_onnx(folder / "network.onnx")), to_yaml(weights.network()));
  }
}

TEST(NetworkAsOnnx, AnOutputThatIsNoNumberIsAnError) {
  Rng rng(7);
  WeightedNetwork weights = testing::worn(testing::RandomNetwork(rng).take(), rng);
  const auto images = testing::images_for(weights.network(), 2);
  weights.each([](const std::string&, torch::Tensor& tensor) {
    const torch::NoGradGuard guard;
    tensor.fill_(std::nan(""));
  });
  EXPECT_GT(graph_error(weights, images), kOnnxTolerance);
}

}  // namespace
}  // namespace reverie
