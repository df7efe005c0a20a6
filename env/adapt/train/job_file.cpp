#include <cstring>
#include <string>
#include <string_view>

#include "core/base/crc32c.h"
#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/json.h"
#include "env/adapt/train/trainer.h"

namespace reverie {
namespace {

// Little-endian: the magic word with the version, the length of the header in 8 bytes, the header
// as JSON, the tensors' float32 values one after the other, CRC-32C of everything before in 4
// bytes.
constexpr std::string_view kMagic = "REVJOB2\n";
constexpr size_t kPrefix = kMagic.size() + sizeof(uint64_t);

template <class T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class T>
T value_at(std::string_view bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

Json json_of(const std::vector<EpochRecord>& curve) {
  Json::Array records;
  for (const EpochRecord& epoch : curve)
    records.push_back(
        std::vector<double>{epoch.accuracy, epoch.train_accuracy, epoch.loss, epoch.spent});
  return records;
}

std::vector<EpochRecord> curve_of(const Json& json) {
  std::vector<EpochRecord> curve;
  for (const Json& record : json.array()) {
    const auto values = record.get<std::vector<double>>();
    if (values.size() != 4) throw InputError("an epoch has {} numbers instead of 4", values.size());
    curve.push_back({values[0], values[1], values[2], values[3]});
  }
  return curve;
}

Json json_of(const Decisions& decisions) {
  Json::Array all;
  for (const auto& decision : decisions) {
    if (!decision)
      all.push_back(nullptr);
    else
      all.push_back({{"widen", decision->kind == ChangeKind::kWiden},
                     {"origin", decision->origin},
                     {"rate", decision->rate}});
  }
  return all;
}

Decisions decisions_of(const Json& json) {
  Decisions decisions;
  for (const Json& entry : json.array()) {
    decisions.emplace_back();
    if (entry.is_null()) continue;
    const ChangeKind kind =
        entry.at("widen").get<bool>() ? ChangeKind::kWiden : ChangeKind::kDeepen;
    decisions.back() = {kind, entry.at("origin").get<int>(), entry.at("rate").get<double>()};
  }
  return decisions;
}

/// Header and values of a file's bytes.
std::pair<std::string_view, std::string_view> parts_of(std::string_view file) {
  if (!file.starts_with(kMagic))
    throw InputError("is no saved job of this version of reverie: name another file");
  constexpr size_t kChecksum = sizeof(uint32_t);
  if (file.size() < kPrefix + kChecksum || value_at<uint32_t>(file, file.size() - kChecksum) !=
                                               crc32c(file.substr(0, file.size() - kChecksum)))
    throw InputError("is damaged: begin the job again");
  file.remove_suffix(kChecksum);
  const auto length = value_at<uint64_t>(file, kMagic.size());
  if (length > file.size() - kPrefix) throw InputError("is damaged: begin the job again");
  return {file.substr(kPrefix, length), file.substr(kPrefix + length)};
}

}  // namespace

std::string TrainerJob::header() const {
  Json json = {{"setup", setup_->fingerprint},
               {"seed", seed_},
               {"network", to_yaml(state_.network)},
               {"curve", json_of(state_.curve)},
               {"decisions", json_of(state_.decisions)},
               {"spent", budget_.spent()},
               {"share", budget_.share()},
               {"epochs_at_decision", epochs_at_decision_},
               {"rate", adam_.rate},
               {"steps", adam_.steps}};
  if (smaller_) json["smaller"] = to_yaml(smaller_->network);
  if (teacher_) json["teacher"] = teacher_->share;
  return json.dump();
}

void TrainerJob::read_header(const std::string& text) {
  const Json json = Json::parse(text);
  if (json.at("setup").get<uint64_t>() != setup_->fingerprint)
    throw InputError(
        "the job is of another network, data or configuration: give it those, or begin again");
  const auto network = [](const Json& yaml) {
    return parse_network(yaml.get<std::string>(), "network");
  };
  seed_ = json.at("seed").get<uint64_t>();
  state_.network = network(json.at("network"));
  state_.curve = curve_of(json.at("curve"));
  state_.decisions = decisions_of(json.at("decisions"));
  budget_.restore(json.at("spent").get<double>(), json.at("share").get<double>());
  epochs_at_decision_ = json.at("epochs_at_decision").get<int>();
  Rng rng(0);  // the file's weights replace these
  weights_ = WeightedNetwork(state_.network, rng);
  adam_ = Adam(weights_.parameters(), json.at("rate").get<double>());
  adam_.steps = json.at("steps").get<int64_t>();
  if (const Json* smaller = json.find("smaller"))
    smaller_ = {network(*smaller), WeightedNetwork(network(*smaller), rng)};
  if (const Json* teacher = json.find("teacher"))
    teacher_ = {OwnTensor(torch::empty({setup_->train.count(), state_.network.classes()})),
                teacher->get<double>()};
  update_state();
}

std::vector<torch::Tensor*> TrainerJob::tensors() {
  std::vector<torch::Tensor*> all;
  const auto add_weights = [&](WeightedNetwork& weights) {
    weights.each([&](const std::string&, torch::Tensor& tensor) { all.push_back(&tensor); });
  };
  add_weights(weights_);
  for (auto* moments : {&adam_.means, &adam_.squares})
    for (OwnTensor& moment : *moments) all.push_back(&moment.value);
  if (smaller_) add_weights(smaller_->weights);
  if (teacher_) all.push_back(&teacher_->targets.value);
  return all;
}

void TrainerJob::save(const std::string& path) const {
  const std::string head = header();
  std::string file(kMagic);
  append(file, uint64_t{head.size()});
  file += head;
  TrainerJob job = *this;
  for (const torch::Tensor* tensor : job.tensors()) {
    const auto plain = tensor->detach().contiguous();
    file.append(static_cast<const char*>(plain.data_ptr()), plain.nbytes());
  }
  append(file, crc32c(file));
  write_file(path, file);
}

std::unique_ptr<TrainerJob> TrainerJob::load(std::shared_ptr<const TrainingSetup> setup,
                                             const std::string& path) {
  return with_context(path, [&] {
    const std::string file = read_file(path);
    auto [head, values] = parts_of(file);
    auto job = std::make_unique<TrainerJob>(std::move(setup), 0);
    job->read_header(std::string(head));
    for (torch::Tensor* tensor : job->tensors()) {
      auto plain = tensor->detach();  // shares its values, and is contiguous where it was just made
      if (plain.nbytes() > values.size()) throw InputError("is damaged: begin the job again");
      std::memcpy(plain.data_ptr(), values.data(), plain.nbytes());
      values.remove_prefix(plain.nbytes());
    }
    if (!values.empty()) throw InputError("is damaged: begin the job again");
    return job;
  });
}

}  // namespace reverie
