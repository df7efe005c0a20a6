#include "worldmodel/latent/surrogate.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace reverie {

SurrogateEnvironment::SurrogateEnvironment(const Environment& environment,
                                           std::shared_ptr<Encoder> encoder,
                                           std::shared_ptr<WorldModel> world, int batch)
    : live_(environment, std::move(encoder), std::move(world), batch,
            static_cast<int>(std::max(1u, std::thread::hardware_concurrency()))) {}

}  // namespace reverie
