#pragma once

namespace reverie {

/// Name and version of this program, as it stands in what it writes.
inline constexpr char kVersion[] = "reverie 0.1.0";

}  // namespace reverie
