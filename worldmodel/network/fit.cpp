#include "worldmodel/network/fit.h"

#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/run_time.h"
#include "worldmodel/network/cut_minibatch.h"

namespace reverie {
namespace {

double cosine(double from, double to, double progress) {
  return to + 0.5 * (from - to) * (1 + std::cos(std::numbers::pi * progress));
}

/// Before the names of the best epoch's metrics among the scores of training.pt.
const std::string kBest = "best/";

/// Before the names of an epoch's metrics by the validation split.
const std::string kValidation = "validation/";

/// Before the names of a mean's sums, which follow a number each, and the name of its weight.
const std::string kSum = "sum/", kWeight = "sums/weight";
constexpr size_t kDigits = 4;

/// Columns of what is told of a part of a minibatch.
constexpr int64_t kShare = 0, kHasToStop = 1, kTerms = 2;

double value_of(const FitMetrics& metrics, const std::string& name) {
  for (const auto& [key, value] : metrics)
    if (key == name) return value;
  throw InternalError("a fit must report its validation loss");
}

[[noreturn]] void throw_not_finite() {
  throw InputError("the loss is no longer finite; lower the learning rate");
}

class Fitter {
 public:
  Fitter(FitProblem& problem, const FitConfig& config, uint64_t seed, std::string directory,
         const std::string& name)
      : problem_(problem),
        config_(config),
        rng_(seed),
        best_path_(directory + "/" + name),
        training_path_(directory + "/training.pt"),
        time_(directory),
        optimizer_(problem.module().parameters(), torch::optim::AdamOptions(config.learning_rate)) {
  }

  void resume() {
    if (!file_exists(training_path_)) return;
    const Checkpoint wanted = problem_.checkpoint();
    const Checkpoint saved = load_checkpoint(training_path_, wanted.kind + "-training");
    with_context(training_path_, [&] {
      if (saved.data != wanted.data)
        throw InputError("it was trained on other data; start again without --resume");
      if (saved.configs != wanted.configs)
        throw InputError("it has another configuration; start again without --resume");
      const auto origin = saved.counters.find("origin");  // earlier files have none
      if ((origin == saved.counters.end() ? 0 : origin->second) !=
          static_cast<int64_t>(problem_.origin()))
        throw InputError("it went on from other weights; start again without --resume");
      restore_module(saved, "module", problem_.module());
      restore_optimizer(saved, "optimizer", optimizer_);
    });
    epoch_ = static_cast<int>(saved.counters.at("epoch"));
    best_epoch_ = static_cast<int>(saved.counters.at("best_epoch"));
    best_loss_ = saved.scores.at("best_loss");
    rng_.set_state(static_cast<uint64_t>(saved.counters.at("random")));
    resume_epoch(saved);
    for (const auto& [name, value] : saved.scores)
      if (name.starts_with(kBest)) best_metrics_.emplace_back(name.substr(kBest.size()), value);
    time_.resume();
  }

  FitResult run(const std::function<void(const FitProgress&)>& observe) {
    while (is_to_go_on()) {
      FitProgress progress;
      progress.epochs = config_.epochs;
      progress.metrics = train_epoch();
      const FitMetrics validation = problem_.validate();
      for (const auto& [key, value] : validation)
        progress.metrics.emplace_back(kValidation + key, value);
      ++epoch_;
      progress.best = keep_best(value_of(validation, "loss"), progress.metrics);
      progress.epoch = epoch_;
      progress.best_loss = best_loss_;
      if (observe && config_.processes.is_first())
        observe(
            progress);  // first: an epoch that is done again may be told again, none may be missing
      save_training_state();
      if (is_to_stop() && is_to_go_on()) stop();
    }
    config_.processes.meet();  // the file is there
    problem_.restore(load_checkpoint(best_path_, problem_.checkpoint().kind));
    return {epoch_, best_epoch_, best_loss_, best_metrics_, time_.seconds()};
  }

 private:
  /// Where it was stopped in the midst of one.
  void resume_epoch(const Checkpoint& saved) {
    const auto minibatch = saved.counters.find("minibatch");  // earlier files have none
    if (minibatch == saved.counters.end()) return;
    minibatch_ = static_cast<int>(minibatch->second);
    random_at_epoch_ = static_cast<uint64_t>(saved.counters.at("random_at_epoch"));
    mean_.restore(saved.scores);
  }

  /// Draws the same minibatches as before where it is in the midst of the epoch.
  int begin_epoch() {
    const uint64_t random = rng_.state();
    if (minibatch_ > 0) rng_.set_state(random_at_epoch_);
    random_at_epoch_ = rng_.state();
    const int minibatches = problem_.begin_epoch(epoch_, rng_);
    if (minibatch_ > 0) rng_.set_state(random);
    return minibatches;
  }

  FitMetrics train_epoch() {
    problem_.module().train();
    set_learning_rate();
    const int minibatches = begin_epoch();
    for (; minibatch_ < minibatches; ++minibatch_) {
      if (minibatch_ > 0 && is_to_stop()) stop();
      step(rng_.bits());
    }
    minibatch_ = 0;
    FitMetrics metrics = std::exchange(mean_, {}).metrics("train/");
    metrics.emplace_back("train/learning_rate", learning_rate());
    return metrics;
  }

  bool is_to_go_on() const {
    return epoch_ < config_.epochs && epoch_ - best_epoch_ < config_.patience;
  }

  [[noreturn]] void stop() const {
    save_training_state();
    throw Interrupted("{}: interrupted after {} of at most {} epochs; --resume goes on from there",
                      training_path_, epoch_, config_.epochs);
  }

  /// Several processes stop at the same minibatch, when one of them has to.
  bool is_to_stop() const {
    return config_.processes.count() == 1 ? config_.stop.requested() : one_has_to_stop_;
  }

  /// By the gradient of the current minibatch.
  void step(uint64_t noise) {
    const CutMinibatch minibatch({config_.chunks, config_.processes}, problem_.size(minibatch_));
    std::vector<torch::Tensor> gradients, terms;
    for (const Part& part : minibatch.own()) {
      const auto number = static_cast<uint64_t>(part.number - 1);
      add_part(part, minibatch.share(part),
               minibatch.is_cut() ? Rng(noise).fork(number).bits() : noise, gradients, terms);
    }
    const torch::Tensor told = minibatch.gather(torch::stack(terms));
    if (minibatch.is_cut()) one_has_to_stop_ = told.select(1, kHasToStop).any().item<bool>();
    tell(told);
    const auto weights = problem_.module().parameters();
    set_gradient(weights, minibatch.sum(torch::stack(gradients)));
    torch::nn::utils::clip_grad_norm_(weights, config_.clip);
    optimizer_.step();
  }

  /// Adds the gradient [weights] of a part's share of the loss, and what is told of it, in double
  /// precision: [its share, whether this process has to stop, terms of the loss...].
  void add_part(Part part, double share, uint64_t noise, std::vector<torch::Tensor>& gradients,
                std::vector<torch::Tensor>& terms) {
    optimizer_.zero_grad();
    const LossTerms losses = problem_.loss(minibatch_, part, make_generator(noise));
    (losses.total() * share).backward();
    gradients.push_back(flat_gradient(problem_.module().parameters()));
    std::vector<double> values = {share, config_.stop.requested() ? 1.0 : 0.0};
    term_names_.clear();
    for (const auto& [name, value] : losses.terms) {
      term_names_.push_back(name);
      values.push_back(value.item<double>());
    }
    terms.push_back(torch::tensor(values, torch::kFloat64));
  }

  /// Of rows as add_part has them. InputError where the loss is not finite.
  void tell(const torch::Tensor& parts) {
    if (!parts.isfinite().all().item<bool>()) throw_not_finite();
    for (int64_t part = 0; part < parts.size(0); ++part) {
      FitMetrics terms;
      for (size_t i = 0; i < term_names_.size(); ++i)
        terms.emplace_back(term_names_[i],
                           parts[part][kTerms + static_cast<int64_t>(i)].item<double>());
      mean_.add(terms, parts[part][kShare].item<double>());
    }
  }

  double learning_rate() const {
    return cosine(config_.learning_rate, config_.final_learning_rate,
                  static_cast<double>(epoch_) / config_.epochs);
  }

  void set_learning_rate() {
    for (auto& group : optimizer_.param_groups())
      static_cast<torch::optim::AdamOptions&>(group.options()).lr(learning_rate());
  }

  bool keep_best(double loss, const FitMetrics& metrics) {
    if (!std::isfinite(loss)) throw_not_finite();
    if (best_epoch_ > 0 && loss >= best_loss_) return false;
    best_loss_ = loss;
    best_epoch_ = epoch_;
    best_metrics_ = metrics;
    if (!config_.processes.is_first()) return true;
    Checkpoint best = problem_.checkpoint();
    record_progress(best);
    for (const auto& [name, value] : metrics)
      if (name.starts_with(kValidation)) best.scores[best.kind + "/" + name] = value;
    save_checkpoint(best_path_, best);
    return true;
  }

  void save_training_state() const {
    if (!config_.processes.is_first()) return;
    Checkpoint state = problem_.checkpoint();
    state.kind += "-training";
    state.tensors.clear();
    store_module(state, "module", problem_.module());
    store_optimizer(state, "optimizer", optimizer_);
    record_progress(state);
    state.counters["origin"] = static_cast<int64_t>(problem_.origin());
    for (const auto& [name, value] : best_metrics_) state.scores[kBest + name] = value;
    if (minibatch_ > 0) {
      state.counters["minibatch"] = minibatch_;
      state.counters["random_at_epoch"] = static_cast<int64_t>(random_at_epoch_);
      mean_.store(state.scores);
    }
    save_checkpoint(training_path_, state);
    time_.keep();
  }

  void record_progress(Checkpoint& checkpoint) const {
    checkpoint.counters["epoch"] = epoch_;
    checkpoint.counters["best_epoch"] = best_epoch_;
    checkpoint.counters["random"] = static_cast<int64_t>(rng_.state());
    checkpoint.scores["best_loss"] = best_loss_;
  }

  FitProblem& problem_;
  const FitConfig& config_;
  Rng rng_;
  std::string best_path_;
  std::string training_path_;
  RunTime time_;
  torch::optim::Adam optimizer_;
  int epoch_ = 0;
  int minibatch_ = 0;  // of the epoch, done
  uint64_t random_at_epoch_ = 0;
  FitMean mean_;
  std::vector<std::string> term_names_;
  bool one_has_to_stop_ = false;
  int best_epoch_ = 0;
  double best_loss_ = std::numeric_limits<double>::max();
  FitMetrics best_metrics_;
};

}  // namespace

void FitMean::add(const LossTerms& losses, double weight) {
  FitMetrics terms;
  for (const auto& [key, value] : losses.terms) terms.emplace_back(key, value.item<double>());
  add(terms, weight);
}

void FitMean::add(const FitMetrics& terms, double weight) {
  if (sums_.empty()) {
    sums_.emplace_back("loss", 0);
    for (const auto& [key, value] : terms) sums_.emplace_back(key, 0);
  }
  REVERIE_CHECK_EQ(sums_.size(), terms.size() + 1);
  weight_ += weight;
  for (size_t i = 0; i < terms.size(); ++i) {
    const double value = weight * terms[i].second;
    sums_[0].second += value;
    sums_[i + 1].second += value;
  }
}

FitMetrics FitMean::metrics(const std::string& prefix) const {
  FitMetrics result;
  for (const auto& [key, value] : sums_) result.emplace_back(prefix + key, value / weight_);
  return result;
}

void FitMean::store(std::map<std::string, double>& scores) const {
  for (size_t i = 0; i < sums_.size(); ++i)
    scores[fmt::format("{}{:0{}}/{}", kSum, i, kDigits, sums_[i].first)] = sums_[i].second;
  scores[kWeight] = weight_;
}

void FitMean::restore(const std::map<std::string, double>& scores) {
  sums_.clear();
  for (const auto& [name, value] : scores)
    if (name.starts_with(kSum)) sums_.emplace_back(name.substr(kSum.size() + kDigits + 1), value);
  weight_ = scores.at(kWeight);
}

void require_parts(const FitConfig& config, const std::string& name, int examples) {
  if (config.chunks > examples)
    throw InputError("chunks is {}, more than {} ({}): no minibatch has so many examples",
                     config.chunks, name, examples);
}

FitResult fit(FitProblem& problem, const FitConfig& config, uint64_t seed,
              const std::string& directory, const std::string& name, bool resume,
              const std::function<void(const FitProgress&)>& observe) {
  Shares{config.chunks, config.processes}.require_even();
  Fitter fitter(problem, config, seed, directory, name);
  if (resume) fitter.resume();
  config.processes.meet();  // nothing is written before all have read it
  return fitter.run(observe);
}

}  // namespace reverie
