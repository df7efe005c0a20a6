#pragma once

#include <mutex>

namespace reverie {

/// Held around every use of the HDF5 library, which is not safe for several threads.
std::mutex& hdf5_mutex();

}  // namespace reverie
