#include "core/base/error.h"
#include "core/base/files.h"
#include "core/cost/cost_fit.h"
#include "core/cost/table.h"
#include "core/cost/weighted_costs.h"
#include "core/hdf5/hdf5.h"
#include "core/hdf5/seal.h"

namespace reverie {
namespace {

constexpr hdf5::FileKind kFitFile = {.magic = "reverie cost fit",
                                     .name = "file of fitted costs",
                                     .schema = kCostFitSchema,
                                     .renew = "fit again",
                                     .repair = "fit again"};

/// What is one number or text.
template <class Fit, class Visit>
void visit_scalars(Fit& fit, Visit&& visit) {
  visit("prior", fit.prior);
  visit("device", fit.device);
  visit("library", fit.library);
  visit("model", fit.model);
  visit("measurements", fit.measurements);
  visit("scale", fit.scale);
  visit("small", fit.small);
  visit("deviation", fit.deviation);
  visit("mismatch", fit.mismatch);
}

/// Costs as columns, which is how they lie in the file.
struct CostColumns {
  std::vector<int64_t> runtime, flops, bytes, launches;

  template <class Visit>
  void visit(Visit&& visit) {
    visit("prior_ps", runtime);
    visit("flops", flops);
    visit("bytes", bytes);
    visit("launches", launches);
  }
};

template <class Value>
std::vector<std::string> keys_of(const std::map<std::string, Value>& map) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : map) keys.push_back(key);
  return keys;
}

void write(const CostFit& fit, hdf5::Writer& writer) {
  visit_scalars(fit, [&]<class T>(const char* name, const T& value) {
    if constexpr (std::is_same_v<T, std::string>)
      writer.text(name, value);
    else
      writer.array(name, std::vector<T>{value});
  });
  writer.array("graph_seconds", fit.seconds);
  writer.array("graph_deviations", fit.deviations);
  CostColumns columns;
  for (const auto& [text, cost] : fit.signatures) {
    columns.runtime.push_back(cost.runtime.count);
    columns.flops.push_back(cost.flops);
    columns.bytes.push_back(cost.bytes);
    columns.launches.push_back(cost.launches);
  }
  writer.texts("signatures", "signature_bytes", keys_of(fit.signatures));
  columns.visit([&](const char* name, auto& column) { writer.array(name, column); });
  std::vector<double> weights;
  for (const auto& [name, weight] : fit.weights) weights.push_back(weight);
  writer.texts("features", "feature_bytes", keys_of(fit.weights));
  writer.array("weights", weights);
}

void read_signatures(const hdf5::Reader& reader, CostFit& fit) {
  const std::vector<std::string> texts = reader.texts("signatures", "signature_bytes");
  CostColumns columns;
  columns.visit([&](const char* name, std::vector<int64_t>& column) {
    column = reader.array<int64_t>(name, texts.size());
  });
  for (size_t i = 0; i < texts.size(); ++i)
    fit.signatures[texts[i]] = {.runtime = {columns.runtime[i]},
                                .flops = columns.flops[i],
                                .bytes = columns.bytes[i],
                                .launches = columns.launches[i]};
}

/// What reads it relies on a weight for every feature.
void check_weights(const hdf5::Reader& reader, const CostFit& fit) {
  for (const auto& [text, cost] : fit.signatures)
    for (const CostFeature& feature : features_of(op_of(text), text, cost, fit.small))
      if (!fit.weights.contains(feature.name))
        reader.refuse("features", fmt::format("'{}' is missing", feature.name));
}

CostFit read(const hdf5::Reader& reader) {
  CostFit fit;
  visit_scalars(fit, [&]<class T>(const char* name, T& value) {
    if constexpr (std::is_same_v<T, std::string>)
      value = reader.text(name);
    else
      value = reader.array<T>(name, 1)[0];
  });
  if (fit.prior.starts_with("fitted:")) reader.refuse("prior", "is itself a file of fitted costs");
  fit.seconds = reader.array<double>("graph_seconds", reader.count("graph_seconds"));
  fit.deviations = reader.array<double>("graph_deviations", fit.seconds.size());
  read_signatures(reader, fit);
  const std::vector<std::string> features = reader.texts("features", "feature_bytes");
  const std::vector<double> weights = reader.array<double>("weights", features.size());
  for (size_t i = 0; i < features.size(); ++i) fit.weights[features[i]] = weights[i];
  check_weights(reader, fit);
  return fit;
}

}  // namespace

CostFit read_cost_fit(const std::string& path) {
  const std::string bytes = read_file(path);
  return read(hdf5::Reader(hdf5::unseal(kFitFile, bytes, path).image, path));
}

void write_cost_fit(const std::string& path, const CostFit& fit) {
  hdf5::Writer writer;
  write(fit, writer);
  write_file(path, hdf5::sealed(kFitFile, writer.finish()));
}

bool is_cost_fit(const std::string& path) { return hdf5::begins_as(kFitFile, path); }

}  // namespace reverie
