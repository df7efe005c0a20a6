#include "core/base/hdf5_mutex.h"

namespace reverie {

std::mutex& hdf5_mutex() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace reverie
