#include "core/base/error.h"
#include "env/placement/search/m_sct.h"

namespace reverie {

bool has_linear_programs() { return false; }

std::vector<int> favourite_children(const Simulator&) {
  throw InputError("this build has no CBC: install coinor-libcbc-dev and build again");
}

}  // namespace reverie
