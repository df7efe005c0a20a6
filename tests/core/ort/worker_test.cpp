#include "core/ort/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "core/base/error.h"
#include "core/ort/tensor_file.h"
#include "tests/core/ort/fake_runtime.h"

namespace reverie::ort {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "nothing";
}

class FakeWorker : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!reverie::testing::has_node()) GTEST_SKIP() << "Node.js is not installed";
  }
  std::shared_ptr<Worker> start(double answer_seconds = 60) {
    return std::make_shared<Worker>(runtime_.folder(), answer_seconds);
  }
  std::string failure(const std::string& model, double answer_seconds = 60) {
    return error_of([&] { Session(start(answer_seconds), model, {}, {}).run(); });
  }

  reverie::testing::FakeRuntime runtime_;
};

TEST_F(FakeWorker, RunsModelsAndGivesTheirOutputs) {
  const auto worker = start();
  EXPECT_EQ(worker->version(), "0.0.1");
  const std::vector<NamedTensor> inputs = {
      {"x", Tensor::of<float>({2, 2}, {1, -2, 3.5F, 4})},
      {"a \"name\"", Tensor::of<int64_t>({}, {int64_t{1} << 60})},
      {"mask", Tensor::of<bool>({3}, {true, false, true})},
      {"none", Tensor::of<float>({0}, std::initializer_list<float>{})}};
  Session session(worker, "model.onnx", inputs, {});
  EXPECT_GE(session.run(), 0);
  const std::vector<NamedTensor> outputs = session.outputs();
  ASSERT_THAT(outputs, SizeIs(4));
  EXPECT_EQ(outputs[1].name, "a \"name\"");
  for (size_t i = 0; i < outputs.size(); ++i) {
    EXPECT_EQ(outputs[i].tensor.type(), inputs[i].tensor.type());
    EXPECT_TRUE(std::ranges::equal(outputs[i].tensor.bytes(), inputs[i].tensor.bytes()));
  }
}

TEST_F(FakeWorker, TakesTurnsBetweenTwoModels) {
  const auto worker = start();
  Session one(worker, "one.onnx", {{"x", Tensor::of<float>({1}, {1})}}, {});
  Session two(worker, "two.onnx", {{"x", Tensor::of<float>({1}, {2})}}, {});
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(one.outputs()[0].tensor.data<float>()[0], 1);
    EXPECT_EQ(two.outputs()[0].tensor.data<float>()[0], 2);
  }
}

TEST_F(FakeWorker, TellsWhatTheRuntimeRefusesAndGoesOn) {
  const auto worker = start();
  EXPECT_THAT(error_of([&] { Session(worker, "refused.onnx", {}, {}); }),
              HasSubstr("no such operator"));
  EXPECT_GE(Session(worker, "fine.onnx", {}, {}).run(), 0);
}

TEST_F(FakeWorker, TellsOfACrash) {
  EXPECT_THAT(failure("crash.onnx"), HasSubstr("ended by signal 11"));
  EXPECT_THAT(failure("status.onnx"), AllOf(HasSubstr("status 3"), HasSubstr("out of luck")));
}

TEST_F(FakeWorker, IsDeadAfterACrash) {
  const auto worker = start();
  error_of([&] { Session(worker, "crash.onnx", {}, {}).run(); });
  EXPECT_FALSE(worker->alive());
  EXPECT_THAT(error_of([&] { worker->version(); }), HasSubstr("has ended"));
}

TEST_F(FakeWorker, EndsOneThatHangs) {
  EXPECT_THAT(failure("hang.onnx", 0.5), HasSubstr("did not answer within 0.5 s"));
}

TEST_F(FakeWorker, SaysWhatIsMissing) {
  const reverie::testing::FakeRuntime empty;
  std::filesystem::remove_all(empty.folder() / "node_modules");
  EXPECT_THAT(error_of([&] { Worker worker(empty.folder()); }),
              AllOf(HasSubstr(empty.folder().string()), HasSubstr("setup.sh --ort")));
  EXPECT_THAT(error_of([&] { Worker worker(""); }), HasSubstr("not installed"));
}

TEST(TensorFile, RefusesWhatTheRuntimeDoesNotTake) {
  const TemporaryDirectory folder;
  EXPECT_THAT(error_of([&] {
                write_tensors(folder / "x", {{"x", Tensor({DType::kBFloat16, {1}})}});
              }),
              HasSubstr("bfloat16"));
}

TEST(TensorFile, RefusesAFileThatEndsTooEarly) {
  const TemporaryDirectory folder;
  write_tensors(folder / "x", {{"x", Tensor::of<float>({2}, {1, 2})}});
  std::filesystem::resize_file(folder / "x", std::filesystem::file_size(folder / "x") - 1);
  EXPECT_THAT(error_of([&] { read_tensors(folder / "x"); }), HasSubstr("ends too early"));
}

}  // namespace
}  // namespace reverie::ort
