#include "core/base/processor.h"

#include <algorithm>
#include <fstream>

namespace reverie {

std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name"))
      return line.substr(std::min(line.find(':') + 2, line.size()));
  return "unknown";
}

}  // namespace reverie
