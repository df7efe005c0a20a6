#pragma once

#include "core/base/json.h"
#include "env/adapt/table.h"

namespace reverie {

constexpr char kTableFormat[] = "reverie-adapt/1";

/// As write_table writes it.
Json table_to_json(const AdaptTable& table);
/// InputError with the place; what table_source refuses is not looked at.
AdaptTable table_from_json(const Json& json);

}  // namespace reverie
