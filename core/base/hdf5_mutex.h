#pragma once

#include <mutex>

namespace reverie {

/// Held around every use of the HDF5 library, of which not every build is safe for several threads.
std::mutex& hdf5_mutex();

}  // namespace reverie
