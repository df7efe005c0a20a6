#include "worldmodel/mdn_rnn.h"

namespace reverie {

namespace {
constexpr double kSameCounts = 4;  // in logits: what does not change is the rule
}  // namespace

MdnRnnImpl::MdnRnnImpl(const WorldModelConfig& config_in, const LatentSpec& spec_in)
    : config(config_in), spec(spec_in) {
  const int hidden = config.hidden;
  const int actions = spec.env.primary_actions();
  latent = register_module("latent", Normalizer(spec.latent));
  change = register_module("change", Normalizer(spec.latent));
  log_counts = register_module("log_counts", Normalizer(actions));
  reward_scale = register_buffer("reward_scale", torch::ones({1}));
  same_counts = register_parameter("same_counts", torch::full({actions, 1}, kSameCounts));
  rules = register_module("rules", torch::nn::Embedding(actions, config.embedding));
  const int columns = spec.latent + actions + config.embedding + kLocationFeatures;
  input = register_module("input", torch::nn::Linear(columns, hidden));
  gates_in = register_module("gates_in", torch::nn::Linear(hidden, 4 * hidden));
  gates_hidden = register_module(
      "gates_hidden", torch::nn::Linear(torch::nn::LinearOptions(hidden, 4 * hidden).bias(false)));
  trunk = register_module("trunk", torch::nn::Linear(2 * hidden, hidden));
  const int64_t mixture = Mixture::columns(config.mixtures, spec.latent);
  head = register_module("head",
                         torch::nn::Linear(hidden, mixture + 2 + actions * CountCode::classes()));
  torch::NoGradGuard guard;
  gates_in->bias.narrow(0, hidden, hidden).fill_(1);  // forget gates start open
}

torch::Tensor MdnRnnImpl::normal_counts(const torch::Tensor& counts) {
  return log_counts(torch::log1p(counts.to(torch::kFloat)));
}

torch::Tensor MdnRnnImpl::embed(const torch::Tensor& z, const torch::Tensor& counts,
                                const LatentActions& actions) {
  const auto location = describe_location(actions.secondary, count_of(counts, actions),
                                          spec.env.max_secondary);
  return torch::silu(input(
      torch::cat({latent(z), normal_counts(counts), rules(actions.primary), location}, -1)));
}

std::pair<torch::Tensor, torch::Tensor> MdnRnnImpl::cell(const torch::Tensor& gates,
                                                         const torch::Tensor& h,
                                                         const torch::Tensor& c) {
  const int64_t hidden = config.hidden;
  const auto all = gates + gates_hidden(h);
  const auto open = torch::sigmoid(all.narrow(1, 0, 3 * hidden)).chunk(3, 1);
  const auto candidate = torch::tanh(all.narrow(1, 3 * hidden, hidden));
  const auto next = open[1] * c + open[0] * candidate;
  return {open[2] * torch::tanh(next), next};
}

MdnOutput MdnRnnImpl::heads(const torch::Tensor& h, const torch::Tensor& embedded,
                            const torch::Tensor& counts) {
  const auto columns = head(torch::silu(trunk(torch::cat({h, embedded}, -1))));
  const int64_t actions = spec.env.primary_actions();
  const int64_t mixture = Mixture::columns(config.mixtures, spec.latent);
  const auto parts =
      columns.split_with_sizes({mixture, 1, 1, actions * CountCode::classes()}, -1);
  auto shape = columns.sizes().vec();
  shape.back() = actions;
  shape.push_back(CountCode::classes());
  const auto same = CountCode::same(counts).unsqueeze(-1);
  return {Mixture::from_columns(parts[0], config.mixtures, spec.latent), parts[1].squeeze(-1),
          parts[2].squeeze(-1),
          parts[3].reshape(shape).scatter_add(-1, same, same_counts.expand(same.sizes()))};
}

}  // namespace reverie
