#pragma once

#include <string>

namespace reverie {

/// The processor's model name as its vendor gives it, or "unknown".
std::string cpu_model();

}  // namespace reverie
