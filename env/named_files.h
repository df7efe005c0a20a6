#pragma once

#include <string>

#include "env/kind.h"

namespace reverie {

/// Files that a configuration names: inputs, rules, devices. What is no file
/// ("generate:layers:120:1", "t4") stays.

/// With paths relative to `folder` instead of the working directory: for what lies in that folder.
EnvironmentConfig relative_to(const std::string& folder, EnvironmentConfig config);

/// The way back, from any working directory. A file of that name in `elsewhere`, where that is not
/// empty, comes first, then the path from `folder`, then as it stands. InputError for an input that
/// is at none of these places.
EnvironmentConfig found_from(const std::string& folder, const std::string& elsewhere,
                             EnvironmentConfig config);

}  // namespace reverie
