#pragma once

#include <nlohmann/json_fwd.hpp>

#include "env/environment.h"

namespace reverie {

nlohmann::json spec_to_json(const EnvSpec& spec);
/// Throws nlohmann::json::exception when a field is missing; `regions`, which older files lack, is 1
/// then.
EnvSpec spec_from_json(const nlohmann::json& value);

}  // namespace reverie
