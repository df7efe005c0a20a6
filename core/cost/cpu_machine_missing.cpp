#include "core/base/error.h"
#include "core/cost/machine.h"

namespace reverie {
namespace {

/// Stands for the processor where there is nothing to run graphs on it with.
class NoCpu : public Machine {
 public:
  std::string name() const override { return "cpu"; }
  MachineInfo info() override { refuse(); }
  std::string profile() const override { return profile_of_machine(name()); }
  std::unique_ptr<ReadyGraph> ready(const Graph&, const WeightSource&) override { refuse(); }
  MedianInterval time_operator(const OpSignature&, const TimingOptions&) override { refuse(); }

 private:
  [[noreturn]] static void refuse() {
    throw InputError(
        "measuring on this machine's processor needs oneDNN, which this program was built "
        "without; take cuda, roofline:<device> or table:<file>");
  }
};

}  // namespace

std::shared_ptr<Machine> cpu_machine(int) { return std::make_shared<NoCpu>(); }

bool cpu_has_kernel(const OpSchema&) { return false; }

}  // namespace reverie
