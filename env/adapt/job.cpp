#include "env/adapt/job.h"

#include <fmt/format.h>

namespace reverie {

Network after_decision(const Network& network, const std::optional<ChangeAtRate>& decision) {
  Network older = network;
  for (Block& block : older.blocks) ++block.age;
  return decision ? adapt::changed(older, decision->in(older)) : older;
}

std::string text_of(const std::optional<ChangeAtRate>& decision, const Network& network,
                    bool rate) {
  if (!decision) return "go on";
  const std::string text =
      fmt::format("{} {}", name_of(decision->kind), network.name_of(decision->origin));
  return rate ? fmt::format("{} at {}", text, decision->rate) : text;
}

std::string decisions_text(const JobState& job, bool rates) {
  std::string text;
  for (const auto& decision : job.decisions)
    text += (text.empty() ? "" : ", ") + text_of(decision, job.network, rates);
  return text.empty() ? "-" : text;
}

}  // namespace reverie
