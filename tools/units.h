#pragma once

namespace reverie {

inline constexpr double kMillisecond = 1e-3;  ///< in seconds

}  // namespace reverie
