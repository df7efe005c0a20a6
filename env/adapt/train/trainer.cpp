#include "env/adapt/train/trainer.h"

#include <ATen/Parallel.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/random.h"
#include "core/base/shuffle.h"
#include "env/adapt/train/network_graph.h"

namespace reverie {
namespace {

constexpr int64_t kCalibrationImages = 256, kEvaluationBatch = 500, kCheckedImages = 32;
constexpr double kForward = 1, kForwardAndBackward = 3;  // multiply-adds for each of the network's
constexpr double kTemperature = 2, kSoftShare = 0.75, kSoftDecay = 0.25, kLeastSoftShare = 0.01;
constexpr uint64_t kWeightStream = 0, kOrderStream = 1, kNoiseStream = 2;

/// Puts LibTorch's number of threads back.
class ThreadsOfCaller {
 public:
  ThreadsOfCaller() = default;
  ~ThreadsOfCaller() { at::set_num_threads(threads_); }
  ThreadsOfCaller(const ThreadsOfCaller&) = delete;
  ThreadsOfCaller& operator=(const ThreadsOfCaller&) = delete;

 private:
  int threads_ = at::get_num_threads();
};

torch::Tensor shuffled(int64_t count, Rng rng) {
  auto order = torch::arange(count);
  shuffle(std::span(order.data_ptr<int64_t>(), static_cast<size_t>(count)), rng);
  return order;
}

double correct_in(const torch::Tensor& logits, const torch::Tensor& labels) {
  return static_cast<double>(logits.argmax(1).eq(labels).sum().item<int64_t>());
}

/// Calls `use` with the first and the last but one of every `size` of `count`, until it returns
/// false.
template <class Use>
bool in_pieces(int64_t count, int64_t size, Use&& use) {
  for (int64_t begin = 0; begin < count; begin += size)
    if (!use(begin, std::min(begin + size, count))) return false;
  return true;
}

uint64_t fingerprint_of(const Network& network, TrainingConfig config, const ImageData& data) {
  config.data.clear();
  return hash_combine(hash_combine(network.hash(), data.fingerprint()),
                      hash_string(dump_config(config)));
}

}  // namespace

ImageTensors::ImageTensors(const LabelledImages& images, const BlockShape& shape)
    : pixels(torch::tensor(images.pixels).view({-1, shape.channels, shape.height, shape.width})),
      labels(torch::tensor(images.labels).to(torch::kLong)) {}

TrainingSetup::TrainingSetup(const Network& network, const TrainingConfig& config,
                             const ImageData& data)
    : network(network),
      config(config),
      train(data.train, data.shape),
      test(data.test, data.shape),
      images{data.train.count(), data.test.count(), data.all_train, data.all_test},
      fingerprint(fingerprint_of(network, config, data)) {}

torch::Tensor inputs_of(const torch::Tensor& pixels) {
  return pixels.to(torch::kFloat).div_(127.5).sub_(1);
}

TrainerJob::TrainerJob(std::shared_ptr<const TrainingSetup> setup, uint64_t seed)
    : setup_(std::move(setup)),
      seed_(seed),
      state_{setup_->network, {}, {}},
      budget_(setup_->config, epoch_work()),
      weights_([&] {
        Rng rng = stream(kWeightStream);
        return WeightedNetwork(setup_->network, rng);
      }()),
      adam_(weights_.parameters(), setup_->config.rate) {
  update_state();
}

TrainerJob::TrainerJob(const TrainerJob& at_first, uint64_t seed) : TrainerJob(at_first) {
  REVERIE_CHECK(state_.decisions.empty());
  seed_ = seed;
}

/// Up to the first decision all jobs are the same.
Rng TrainerJob::stream(uint64_t which) const {
  return Rng(state_.decisions.empty() ? setup_->config.seed : seed_).fork(which);
}

double TrainerJob::epoch_work() const {
  return static_cast<double>(state_.network.multiply_adds()) *
         (kForwardAndBackward * static_cast<double>(setup_->train.count()) +
          kForward * static_cast<double>(setup_->test.count()));
}

void TrainerJob::update_state() {
  state_.spent = budget_.spent();
  state_.over = budget_.over();
  state_.throughput = budget_.throughput();
  state_.epoch_share = budget_.share_of(epoch_work());
}

bool TrainerJob::at_decision() const {
  const auto taken = std::ssize(state_.decisions);
  if (state_.over || taken >= setup_->config.decisions) return false;
  if (taken == 0) return budget_.reached(setup_->config.from);
  return std::ssize(state_.curve) >= epochs_at_decision_ + setup_->config.every;
}

void TrainerJob::decide(const std::optional<ChangeAtRate>& decision) {
  take(decision);
  go_on();
}

void TrainerJob::take(const std::optional<ChangeAtRate>& decision) {
  if (state_.over) throw InputError("the budget is spent: no decision can be taken");
  if (!at_decision()) throw InputError("the job stands at no decision: train it on first");
  if (decision && !(decision->rate > 0 && decision->rate <= kMostRate))
    throw InputError("a learning rate of {} is none: take one above 0, of at most {}",
                     decision->rate, kMostRate);
  Network next = after_decision(state_.network, decision);
  if (decision) {
    if (budget_.extra() && setup_->config.extra.until < 1 && !smaller_)
      smaller_ = {state_.network, weights_};
    if (!foreseen_) grow(next, *decision);
  }
  if (smaller_) smaller_->network = after_decision(smaller_->network, std::nullopt);
  state_.network = std::move(next);
  state_.decisions.push_back(decision);
  epochs_at_decision_ = static_cast<int>(state_.curve.size());
  update_state();
}

void TrainerJob::grow(const Network& next, const ChangeAtRate& change) {
  const ThreadsOfCaller threads;
  at::set_num_threads(budget_.threads());
  const int64_t images = std::min(kCalibrationImages, setup_->train.count());
  Rng rng = Rng(seed_).fork(kNoiseStream).fork(state_.decisions.size());
  weights_ = weights_.changed(next, inputs_of(setup_->train.pixels.slice(0, 0, images)),
                              setup_->config.noise, rng);
  adam_ = Adam(weights_.parameters(), change.rate);
}

std::unique_ptr<TrainerJob> TrainerJob::foreseen() const {
  REVERIE_CHECK(setup_->config.unit == BudgetUnit::kFlops);
  auto job = std::make_unique<TrainerJob>(*this);
  job->foreseen_ = true;
  return job;
}

void TrainerJob::go_on(const AfterEpoch& after) {
  const ThreadsOfCaller threads;
  const torch::AutoGradMode gradients(true);  // a policy that plays computes none
  while (!state_.over && !at_decision()) {
    const size_t epochs = state_.curve.size();
    epoch();
    if (after && state_.curve.size() > epochs) after(*this);
  }
  if (!state_.over || !state_.decisions.empty()) return;
  if (state_.curve.empty())
    throw InputError("the budget of {} ends within the first epoch: give more of it",
                     budget_text(setup_->config));
  throw InputError(
      "the budget ends before the first decision: give more of it, or set from to less than {:g}",
      setup_->config.from);
}

bool TrainerJob::ready() const {
  if (const int threads = budget_.threads(); threads != at::get_num_threads())
    at::set_num_threads(threads);
  return !processors_left(budget_);
}

bool TrainerJob::processors_left(const Budget& budget) const {
  return smaller_ && !budget.extra() && !budget.over();
}

bool TrainerJob::charge(Budget& budget, double factor, int64_t images) const {
  return budget.charge(factor * static_cast<double>(state_.network.multiply_adds() * images));
}

bool TrainerJob::budget_ends_within_epoch() const {
  if (setup_->config.unit == BudgetUnit::kSeconds) return false;
  Budget ahead = budget_;
  const auto pass = [&](double factor) {
    return [&, factor](int64_t begin, int64_t end) {
      return !processors_left(ahead) && charge(ahead, factor, end - begin);
    };
  };
  return !(in_pieces(setup_->train.count(), setup_->config.batch, pass(kForwardAndBackward)) &&
           in_pieces(setup_->test.count(), kEvaluationBatch, pass(kForward))) &&
         !processors_left(ahead);
}

void TrainerJob::epoch() {
  const TrainingConfig& config = setup_->config;
  if (config.restart == Restart::kPublished && !state_.decisions.empty() && !foreseen_)
    adam_ = Adam(weights_.parameters(), config.rate);
  budget_.start_clock();
  const double before = budget_.spent();
  std::optional<WeightedNetwork> kept;
  if (config.unit == BudgetUnit::kSeconds) kept = weights_;
  EpochRecord record;
  if (budget_ends_within_epoch()) {
    budget_.end();
  } else if (train(record) && evaluate(record)) {
    record.spent = budget_.spent();
    budget_.measure(before, epoch_work());
    state_.curve.push_back(record);
    adam_.rate *= config.decay;
    if (teacher_ && (teacher_->share *= kSoftDecay) < kLeastSoftShare) teacher_.reset();
  } else if (budget_.over() && kept) {
    weights_ = std::move(*kept);
  }
  if (processors_left(budget_)) make_smaller();
  update_state();
}

bool TrainerJob::train(EpochRecord& record) {
  const auto& [pixels, labels] = setup_->train;
  const int64_t count = setup_->train.count();
  const auto order =
      foreseen_ ? torch::Tensor() : shuffled(count, stream(kOrderStream).fork(state_.curve.size()));
  const std::vector<torch::Tensor> parameters = weights_.parameters();
  return in_pieces(count, setup_->config.batch, [&](int64_t begin, int64_t end) {
    if (!ready()) return false;
    if (foreseen_) return charge(budget_, kForwardAndBackward, end - begin);
    const auto rows = order.slice(0, begin, end);
    const auto batch_labels = labels.index_select(0, rows);
    const auto logits = weights_.forward(inputs_of(pixels.index_select(0, rows)), Pass::kTrain);
    const auto batch_loss = loss(logits, batch_labels, rows);
    const auto value = batch_loss.item<double>();
    if (!std::isfinite(value))
      throw InputError(
          "the training loss is {} in epoch {} at learning rate {:g}: take a smaller rate", value,
          state_.curve.size() + 1, adam_.rate);
    adam_.step(parameters, torch::autograd::grad({batch_loss}, parameters, {}, {}, false,
                                                 /*allow_unused=*/true));
    const double share = static_cast<double>(end - begin) / static_cast<double>(count);
    record.loss += value * share;
    record.train_accuracy += correct_in(logits, batch_labels) / static_cast<double>(count);
    return charge(budget_, kForwardAndBackward, end - begin);
  });
}

torch::Tensor TrainerJob::loss(const torch::Tensor& logits, const torch::Tensor& labels,
                               const torch::Tensor& rows) const {
  const auto hard = torch::cross_entropy_loss(logits, labels);
  if (!teacher_) return hard;
  const auto targets = teacher_->targets.value.index_select(0, rows);
  const auto soft = -(targets * torch::log_softmax(logits / kTemperature, 1)).sum(1).mean();
  return hard * (1 - teacher_->share) + soft * (teacher_->share * kTemperature * kTemperature);
}

bool TrainerJob::evaluate(EpochRecord& record) {
  const torch::NoGradGuard guard;
  const int64_t count = setup_->test.count();
  return in_pieces(count, kEvaluationBatch, [&](int64_t begin, int64_t end) {
    if (!ready()) return false;
    if (foreseen_) return charge(budget_, kForward, end - begin);
    const auto logits =
        weights_.forward(inputs_of(setup_->test.pixels.slice(0, begin, end)), Pass::kEvaluate);
    record.accuracy +=
        correct_in(logits, setup_->test.labels.slice(0, begin, end)) / static_cast<double>(count);
    return charge(budget_, kForward, end - begin);
  });
}

NetworkCheck TrainerJob::write_onnx(const std::string& path) const {
  NetworkCheck check;
  check.images = static_cast<int>(std::min(kCheckedImages, setup_->test.count()));
  check.error = graph_error(weights_, inputs_of(setup_->test.pixels.slice(0, 0, check.images)));
  REVERIE_CHECK(check.error <= kOnnxTolerance, "the network as ONNX is off by {:.2g}", check.error);
  write_network(weights_, path);
  return check;
}

void TrainerJob::make_smaller() {
  const torch::NoGradGuard guard;
  std::vector<torch::Tensor> targets;
  at::set_num_threads(budget_.threads());
  in_pieces(setup_->train.count(), kEvaluationBatch, [&](int64_t begin, int64_t end) {
    if (foreseen_) return charge(budget_, kForward, end - begin);
    const auto logits =
        weights_.forward(inputs_of(setup_->train.pixels.slice(0, begin, end)), Pass::kEvaluate);
    targets.push_back(torch::softmax(logits / kTemperature, 1));
    return charge(budget_, kForward, end - begin);
  });
  if (budget_.over()) return;
  state_.network = std::move(smaller_->network);
  if (!foreseen_) {
    teacher_ = {OwnTensor(torch::cat(targets)), kSoftShare};
    weights_ = std::move(smaller_->weights);
    adam_ = Adam(weights_.parameters(), adam_.rate);
  }
  smaller_.reset();
}

}  // namespace reverie
