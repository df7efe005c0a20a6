#pragma once

/// What nearly every subcommand includes; see core/base/precompiled.h.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>
