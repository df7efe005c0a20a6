#include "env/adapt/job.h"

#include <fmt/format.h>

namespace reverie {

std::string text_of(const std::optional<ChangeAtRate>& decision, const Network& network,
                    bool rate) {
  if (!decision) return "go on";
  const auto& [kind, block] = decision->change;
  std::string text =
      fmt::format("{} {}", name_of(kind), network.blocks.at(static_cast<size_t>(block)).name);
  return rate ? fmt::format("{} at {}", text, decision->rate) : text;
}

}  // namespace reverie
