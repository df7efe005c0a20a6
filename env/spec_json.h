#pragma once

#include "core/base/json.h"
#include "env/environment.h"

namespace reverie {

/// A specification as files hold it.
Json spec_to_json(const EnvSpec& spec);
/// InputError when a part is missing or of another type, or when the parts do not fit each other.
EnvSpec spec_from_json(const Json& value);

}  // namespace reverie
