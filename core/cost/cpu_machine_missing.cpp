#include "core/base/error.h"
#include "core/cost/machine.h"

namespace reverie {

std::shared_ptr<Machine> cpu_machine(int) {
  throw InputError(
      "measuring on this machine's processor needs oneDNN, which this program was built "
      "without; take cuda, roofline:<device> or table:<file>");
}

bool cpu_has_kernel(const OpSchema&) { return false; }

}  // namespace reverie
