#pragma once

#include "core/base/json.h"
#include "env/environment.h"

namespace reverie {

Json spec_to_json(const EnvSpec& spec);
/// InputError when a field is missing; `regions`, which older files lack, is 1 then.
EnvSpec spec_from_json(const Json& value);

}  // namespace reverie
