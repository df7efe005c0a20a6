#include "tools/interrupt.h"

#include <csignal>

namespace reverie {
namespace {

const StopToken& token() {
  static const StopToken stop;
  return stop;
}

void request_stop(int signal) {
  token().request();
  std::signal(signal, SIG_DFL);
}

}  // namespace

StopToken stop_on_interrupt() {
  token();  // made here, not in the handler
  std::signal(SIGINT, request_stop);
  std::signal(SIGTERM, request_stop);
  return token();
}

bool was_interrupted() { return token().requested(); }

}  // namespace reverie
