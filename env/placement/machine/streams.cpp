#include "env/placement/machine/streams.h"

#include "env/placement/machine/model_on_streams.h"
#include "env/placement/machine/stream_topology.h"

namespace reverie {
namespace {

class Streams : public OwnDevices {
 public:
  Streams(std::shared_ptr<device::Device> device, int streams)
      : device_(std::move(device)), topology_(measured_stream_topology(*device_, streams)) {}
  const Topology& topology() const override { return topology_; }
  std::unique_ptr<ModelOnDevices> ready(const Graph& model, const std::string& name,
                                        std::span<const Tensor> inputs) override {
    return model_on_streams(model, name, inputs, *device_, topology_.size());
  }

 private:
  std::shared_ptr<device::Device> device_;
  Topology topology_;
};

}  // namespace

std::shared_ptr<OwnDevices> streams_of(std::shared_ptr<device::Device> device, int streams) {
  return std::make_shared<Streams>(std::move(device), streams);
}

}  // namespace reverie
