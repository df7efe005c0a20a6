#include "env/rewrite/measure_graphs.h"

#include <mutex>
#include <optional>

#include "core/cost/relative_times.h"

namespace reverie {

MeasureGraph measure_graphs(const MeasureConfig& config, const std::string& cost_source) {
  struct Shared {
    std::mutex alone;
    std::optional<RelativeTimes> times;
  };
  return [config, cost_source, shared = std::make_shared<Shared>()](const Graph& original,
                                                                    const Graph& graph, bool anew) {
    const std::lock_guard lock(shared->alone);
    if (!shared->times)
      shared->times.emplace(EndToEndOptions{config.repeats, config.min_seconds,
                                            machine_beside(config.machine, cost_source)});
    return shared->times->of(original, graph, anew);
  };
}

}  // namespace reverie
