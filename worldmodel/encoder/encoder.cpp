#include "worldmodel/encoder/encoder.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "core/base/error.h"
#include "worldmodel/encoder/graph_encoder.h"

namespace reverie {

EncoderKind encoder_kind(std::string_view name) {
  std::vector<std::string_view> names;
  for (const auto& [kind, known] : enum_names(EncoderKind{})) {
    if (known == name) return kind;
    names.push_back(known);
  }
  throw InputError("no encoder '{}'; there are {}", name, fmt::join(names, ", "));
}

EnumNames<EncoderKind> enum_names(EncoderKind) {
  EnumNames<EncoderKind> names;
  int number = 0;
  for (const RegisteredEncoder& encoder : registered_encoders())
    names.emplace_back(EncoderKind{number++}, encoder.name);
  const auto gn = std::ranges::find(names, "gn", &EnumNames<EncoderKind>::value_type::second);
  names.emplace_back(gn->first, "variational");
  return names;
}

std::string encoder_kinds_text() {
  std::string text;
  for (const RegisteredEncoder& encoder : registered_encoders())
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", encoder.name, encoder.what);
  return text + "; variational: gn, in older files";
}

const RegisteredEncoder& registered(EncoderKind kind) {
  return registered_encoders()[static_cast<size_t>(kind)];
}

std::shared_ptr<GraphEncoder> make_encoder(const EncoderConfig& config, const EnvSpec& spec) {
  return registered(config.kind).make(config, spec);
}

Latents Encoder::encode(std::span<const Observation* const> observations) {
  return encode(batch_observations(observations, spec()).to(device()));
}

EncodedStates Encoder::see(std::span<const Observation> observations) {
  const ObservationBatch batch = batch_observations(observations, spec()).to(device());
  return {encode(batch), batch.mask};
}

std::shared_ptr<Encoder> load_encoder(const Checkpoint& checkpoint) {
  if (!checkpoint.configs.contains("encoder"))
    throw InputError("the {} checkpoint holds no encoder; give one from train_vae",
                     checkpoint.kind);
  EncoderConfig config;
  ConfigFields(config).load_text(checkpoint.configs.at("encoder"), "encoder of the checkpoint");
  auto encoder = make_encoder(config, checkpoint.spec);
  restore_module(checkpoint, "encoder", *encoder);
  encoder->eval();
  return encoder;
}

}  // namespace reverie
