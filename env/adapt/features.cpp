#include "env/adapt/features.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace reverie {
namespace {

constexpr int kRecentEpochs = 3, kSlopeEpochs = 5;
constexpr double kRounding = 1e-9;  // of shares of the budget, as files hold them

const std::vector<std::string>& block_columns() {
  static const std::vector<std::string> names = {"log width",
                                                 "log input width",
                                                 "kernel",
                                                 "stride",
                                                 "batch norm",
                                                 "ReLU",
                                                 "adds",
                                                 "added",
                                                 "age",
                                                 "log parameters",
                                                 "log multiply-adds",
                                                 "multiply-add share"};
  return names;
}

const std::vector<std::string>& job_columns() {
  static const std::vector<std::string> names = {"budget left",
                                                 "budget since change",
                                                 "epoch share",
                                                 "throughput",
                                                 "decision",
                                                 "accuracy",
                                                 "recent accuracy",
                                                 "accuracy slope",
                                                 "best accuracy",
                                                 "log all parameters",
                                                 "log all multiply-adds",
                                                 "log epochs",
                                                 "log epochs since change",
                                                 "deepenings",
                                                 "widenings"};
  return names;
}

float log_of(double x) { return static_cast<float>(std::log1p(x)); }

/// Least-squares slope of the accuracy over the last epochs, an epoch.
double slope(const std::vector<EpochRecord>& curve) {
  const auto count = std::min<ptrdiff_t>(std::ssize(curve), kSlopeEpochs);
  if (count < 2) return 0;
  const auto first = curve.end() - count;
  double mean = 0, with = 0, without = 0;
  for (auto epoch = first; epoch != curve.end(); ++epoch)
    mean += epoch->accuracy / static_cast<double>(count);
  for (ptrdiff_t i = 0; i < count; ++i) {
    const double x = static_cast<double>(i) - static_cast<double>(count - 1) / 2;
    with += x * (first[i].accuracy - mean);
    without += x * x;
  }
  return with / without;
}

float number(double x) { return static_cast<float>(x); }

/// As `learned_job_columns`.
std::array<float, 4> learned_row(const std::vector<EpochRecord>& curve) {
  if (curve.empty()) return {};
  const double best = std::ranges::max_element(curve, {}, &EpochRecord::accuracy)->accuracy;
  return {number(curve.back().accuracy), number(mean_accuracy(curve, kRecentEpochs)),
          number(slope(curve)), number(best)};
}

std::vector<float> job_row(const JobView& view) {
  const JobState& state = view.state;
  const auto learned = view.told ? *view.told : learned_row(state.curve);
  const auto since_change = std::ranges::count_if(
      state.curve, [&](const EpochRecord& e) { return e.spent > view.changed_at + kRounding; });
  const auto changes = [&](ChangeKind kind) {
    return number(static_cast<double>(std::ranges::count_if(
        state.decisions, [&](const auto& taken) { return taken && taken->kind == kind; })));
  };
  return {number(1 - state.spent),
          number(state.spent - view.changed_at),
          number(state.epoch_share),
          number(state.throughput),
          number(static_cast<double>(state.decisions.size()) / view.decisions),
          learned[0],
          learned[1],
          learned[2],
          learned[3],
          log_of(static_cast<double>(state.network.parameters())),
          log_of(static_cast<double>(state.network.multiply_adds())),
          log_of(static_cast<double>(state.curve.size())),
          log_of(static_cast<double>(since_change)),
          changes(ChangeKind::kDeepen),
          changes(ChangeKind::kWiden)};
}

class FeatureWriter {
 public:
  explicit FeatureWriter(const Network& network)
      : network_(network),
        shapes_(network.shapes()),
        all_(static_cast<double>(network.multiply_adds())) {}

  GraphFeatures write(const std::vector<float>& job) {
    std::vector<float> image(block_columns().size(), 0);
    image[0] = log_of(network_.image.channels);
    add_node(static_cast<int>(job_node_types().size()) - 1, 0, image, job, 0);
    const std::vector<float> none(job.size(), 0);
    for (int block = 0; block < static_cast<int>(network_.blocks.size()); ++block) {
      const double share = static_cast<double>(network_.multiply_adds(block)) / std::max(1.0, all_);
      const Block& own = network_.blocks[static_cast<size_t>(block)];
      add_node(static_cast<int>(own.kind), own.origin + 1, block_row(block, share), none, share);
      add_edges(block);
    }
    features_.graph_targets = job;
    return std::move(features_);
  }

 private:
  std::vector<float> block_row(int index, double share) const {
    const Block& block = network_.blocks[static_cast<size_t>(index)];
    const BlockShape& in =
        block.from < 0 ? network_.image : shapes_[static_cast<size_t>(block.from)];
    const auto flag = [](bool value) { return value ? 1.0f : 0.0f; };
    return {log_of(block.width),
            log_of(in.channels),
            static_cast<float>(block.kernel),
            static_cast<float>(block.stride),
            flag(block.batch_norm),
            flag(block.relu),
            flag(block.add >= 0),
            flag(network_.added(index)),
            static_cast<float>(block.age),
            log_of(static_cast<double>(network_.parameters(index))),
            log_of(static_cast<double>(network_.multiply_adds(index))),
            static_cast<float>(share)};
  }

  void add_node(int type, int entity, const std::vector<float>& block,
                const std::vector<float>& job, double share) {
    features_.node_entities.push_back(entity);
    features_.node_types.push_back(type);
    features_.nodes.insert(features_.nodes.end(), block.begin(), block.end());
    features_.nodes.insert(features_.nodes.end(), job.begin(), job.end());
    features_.node_targets.push_back(static_cast<float>(share));
  }

  void add_edges(int index) {
    const Block& block = network_.blocks[static_cast<size_t>(index)];
    add_edge(block.from + 1, index + 1, {1, 0, 0});
    if (block.add >= 0) add_edge(block.add + 1, index + 1, {0, 1, 0});
    add_edge(0, index + 1, {0, 0, 1});
  }

  void add_edge(int from, int to, std::initializer_list<float> row) {
    features_.senders.push_back(from);
    features_.receivers.push_back(to);
    features_.edges.insert(features_.edges.end(), row);
  }

  const Network& network_;
  std::vector<BlockShape> shapes_;
  double all_;
  GraphFeatures features_;
};

}  // namespace

const std::vector<std::string>& job_node_types() {
  static const std::vector<std::string> names = {
      "conv",         "linear",      "max pool",
      "average pool", "global pool", "image"};  // kinds of blocks in their order
  return names;
}

std::vector<std::string> job_node_features() {
  std::vector<std::string> names = block_columns();
  names.insert(names.end(), job_columns().begin(), job_columns().end());
  return names;
}

const std::array<std::string, 4>& learned_job_columns() {
  static const std::array<std::string, 4> names = {"accuracy", "recent accuracy", "accuracy slope",
                                                   "best accuracy"};
  return names;
}

std::vector<Target> job_targets() {
  std::vector<Target> targets = {{"multiply-add share", TargetLevel::kNode, TargetLoss::kShare}};
  for (const std::string& name : job_columns())
    targets.push_back({name, TargetLevel::kGraph, TargetLoss::kRegression});
  return targets;
}

const std::vector<std::string>& job_edge_features() {
  static const std::vector<std::string> names = {"reads", "adds", "job"};
  return names;
}

GraphFeatures job_features(const JobView& view) {
  return FeatureWriter(view.state.network).write(job_row(view));
}

const std::vector<std::string>& change_features() {
  static const std::vector<std::string> names = {"log multiply-add ratio", "log parameter ratio",
                                                 "log rate"};
  return names;
}

std::vector<float> features_of(const Network& network, const ChangeAtRate& change) {
  const Network after = adapt::changed(network, change.in(network));
  const auto log_ratio = [](int64_t to, int64_t from) {
    return static_cast<float>(
        std::log(static_cast<double>(to) / std::max(1.0, static_cast<double>(from))));
  };
  return {log_ratio(after.multiply_adds(), network.multiply_adds()),
          log_ratio(after.parameters(), network.parameters()),
          static_cast<float>(std::log10(change.rate))};
}

double mean_accuracy(const std::vector<EpochRecord>& curve, int epochs) {
  const auto count = std::min<ptrdiff_t>(std::ssize(curve), epochs);
  double sum = 0;
  for (auto epoch = curve.end() - count; epoch != curve.end(); ++epoch) sum += epoch->accuracy;
  return count > 0 ? sum / static_cast<double>(count) : 0;
}

}  // namespace reverie
