#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/exec/device/device.h"
#include "core/exec/device/elements.h"
#include "tests/support/queue_order.h"

namespace reverie::testing {

/// What a call does, in plain loops around the work of one element that devices run as well.
namespace host_calls {

using namespace device;  // NOLINT: this is one more device
using Memory = std::span<std::byte* const>;

inline void run(const Elementwise& call, Memory memory) {
  const ElementwiseWork work = work_of(call);
  Pointers pointers{};
  for (int i = 0; i < work.operands; ++i) pointers.reads[i] = memory[static_cast<size_t>(i)];
  pointers.write = memory.back();
  for (int64_t i = 0; i < work.elements; ++i) compute_element(work, pointers, i);
}

inline void run(const Pointwise& call, Memory memory) {
  const PointwiseWork work = work_of(call);
  PointwisePointers pointers{};
  for (int i = 0; i < work.operands; ++i) pointers.reads[i] = memory[static_cast<size_t>(i)];
  pointers.write = memory.back();
  for (int64_t i = 0; i < work.elements; ++i) compute_pointwise(work, pointers, i);
}

template <typename Element>
void move(const Movement& call, Memory memory) {
  for (const Piece& piece : call.pieces) {
    const PieceWork work = work_of(piece);
    for (int64_t i = 0; i < work.elements; ++i)
      move_element<Element>(work, memory[static_cast<size_t>(piece.read)],
                            memory[static_cast<size_t>(call.reads + piece.write)], i);
  }
}

inline void run(const Movement& call, Memory memory) {
  switch (call.element_bytes) {
    case 1:
      return move<uint8_t>(call, memory);
    case 2:
      return move<uint16_t>(call, memory);
    case 4:
      return move<uint32_t>(call, memory);
    default:
      return move<uint64_t>(call, memory);
  }
}

inline void run(const Fill& call, Memory memory) {
  for (int64_t i = 0; i < call.elements; ++i)
    put_float(memory[0], call.dtype, i, static_cast<float>(call.value));
}

inline void run(const Pooling& call, Memory memory) {
  const PoolingWork work = work_of(call);
  const Extents& out = call.window.out;
  for (int64_t i = 0; i < call.planes * out[0] * out[1] * out[2]; ++i)
    pool_element(work, memory[0], memory[1], i);
}

/// In three shares, as threads would have them.
inline void run(const Reduction& call, Memory memory) {
  constexpr int64_t kShares = 3;
  const ReductionWork work = work_of(call);
  for (int64_t i = 0; i < work.results; ++i) {
    float result = nothing_reduced(work.kind);
    for (int64_t share = 0; share < kShares; ++share)
      result = reduced(work.kind, result, reduced_share(work, memory[0], i, share, kShares));
    put_reduced(work, memory[1], i, result);
  }
}

inline void run(const Product& call, Memory memory) {
  const auto extra = [&](int64_t at, int64_t column) {
    size_t next = 2;
    float sum = 0;
    if (call.has_bias) sum += float_at(memory[next++], call.dtype, column);
    if (call.has_residual) sum += float_at(memory[next], call.dtype, at);
    return sum;
  };
  for (int64_t batch = 0; batch < call.batches; ++batch)
    for (int64_t i = 0; i < call.rows; ++i)
      for (int64_t j = 0; j < call.columns; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < call.inner; ++k) {
          const int64_t a = call.a_transposed ? k * call.rows + i : i * call.inner + k;
          const int64_t b = call.b_transposed ? j * call.inner + k : k * call.columns + j;
          sum += float_at(memory[0], call.dtype, batch * call.a_stride + a) *
                 float_at(memory[1], call.dtype, batch * call.b_stride + b);
        }
        const int64_t at = (batch * call.rows + i) * call.columns + j;
        const float value = static_cast<float>(call.alpha * sum) + extra(at, j);
        put_float(memory.back(), call.dtype, at, activated(value, call.activation));
      }
}

/// The sum over one window: filter `filter` at `position` of an image.
inline double convolved(const Convolution& call, Memory memory, int64_t image, int64_t filter,
                        const Extents& position) {
  const Window& w = call.window;
  const int64_t channels = call.channels / call.groups;
  const int64_t first = filter / (call.filters / call.groups) * channels;
  double sum = 0;
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t i = 0; i < w.kernel[0]; ++i)
      for (int64_t j = 0; j < w.kernel[1]; ++j)
        for (int64_t k = 0; k < w.kernel[2]; ++k) {
          const Extents tap = {i, j, k};
          int64_t at = image * call.channels + first + c;
          bool inside = true;
          for (size_t axis = 0; axis < 3; ++axis) {
            const int64_t x =
                position[axis] * w.stride[axis] - w.before[axis] + tap[axis] * w.dilation[axis];
            inside = inside && x >= 0 && x < w.in[axis];
            at = at * w.in[axis] + x;
          }
          if (!inside) continue;
          const int64_t weight =
              (((filter * channels + c) * w.kernel[0] + i) * w.kernel[1] + j) * w.kernel[2] + k;
          sum += float_at(memory[0], call.dtype, at) * float_at(memory[1], call.dtype, weight);
        }
  return sum;
}

inline void run(const Convolution& call, Memory memory) {
  const Extents& out = call.window.out;
  int64_t at = 0;
  for (int64_t image = 0; image < call.batch; ++image)
    for (int64_t filter = 0; filter < call.filters; ++filter)
      for (int64_t place = 0; place < out[0] * out[1] * out[2]; ++place, ++at) {
        const Extents position = {place / (out[1] * out[2]), place / out[2] % out[1],
                                  place % out[2]};
        auto value = static_cast<float>(convolved(call, memory, image, filter, position));
        size_t next = 2;
        if (call.has_bias) value += float_at(memory[next++], call.dtype, filter);
        if (call.has_residual) value += float_at(memory[next], call.dtype, at);
        put_float(memory.back(), call.dtype, at, activated(value, call.activation));
      }
}

inline void run(const Softmax& call, Memory memory) {
  for (int64_t row = 0; row < call.outer * call.inner; ++row) {
    const auto at = [&](int64_t i) {
      return (row / call.inner * call.extent + i) * call.inner + row % call.inner;
    };
    float largest = -INFINITY, sum = 0;
    for (int64_t i = 0; i < call.extent; ++i)
      largest = std::max(largest, float_at(memory[0], call.dtype, at(i)));
    for (int64_t i = 0; i < call.extent; ++i)
      sum += std::exp(float_at(memory[0], call.dtype, at(i)) - largest);
    for (int64_t i = 0; i < call.extent; ++i)
      put_float(memory[1], call.dtype, at(i),
                std::exp(float_at(memory[0], call.dtype, at(i)) - largest) / sum);
  }
}

inline void run(const LayerNormalization& call, Memory memory) {
  size_t next = 0;
  const auto take = [&](bool is_there) { return is_there ? memory[next++] : nullptr; };
  const std::byte *source = take(true), *scale = take(true), *shift = take(call.has_shift),
                  *residual = take(call.has_residual), *bias = take(call.has_bias);
  std::byte *target = take(true), *sum = take(call.writes_sum);
  std::vector<double> x(static_cast<size_t>(call.width));
  for (int64_t row = 0; row < call.rows; ++row) {
    const auto count = static_cast<double>(call.width);
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < call.width; ++i) {
      const int64_t at = row * call.width + i;
      double& value = x[static_cast<size_t>(i)] = float_at(source, call.dtype, at);
      if (residual != nullptr) value += float_at(residual, call.dtype, at);
      if (bias != nullptr) value += float_at(bias, call.dtype, i);
      if (sum != nullptr) put_float(sum, call.dtype, at, static_cast<float>(value));
      mean += value / count;
    }
    for (const double value : x) variance += (value - mean) * (value - mean) / count;
    for (int64_t i = 0; i < call.width; ++i) {
      double value = (x[static_cast<size_t>(i)] - mean) / std::sqrt(variance + call.epsilon) *
                     float_at(scale, call.dtype, i);
      if (shift != nullptr) value += float_at(shift, call.dtype, i);
      put_float(target, call.dtype, row * call.width + i, static_cast<float>(value));
    }
  }
}

inline void run(const Attention& call, Memory memory) {
  const auto at = [&](int64_t head, const HeadStrides& strides, int64_t row, int64_t column) {
    return head / call.heads * strides[0] + head % call.heads * strides[1] + row * strides[2] +
           column * strides[3];
  };
  for (int64_t i = 0; i < call.outer * call.heads * call.queries; ++i) {
    const int64_t head = i / call.queries, query = i % call.queries;
    std::vector<double> shares(static_cast<size_t>(call.keys));
    double largest = -INFINITY, total = 0;
    for (int64_t key = 0; key < call.keys; ++key) {
      double score = 0;
      for (int64_t c = 0; c < call.depth; ++c)
        score += float_at(memory[0], call.dtype, at(head, call.q, query, c)) *
                 float_at(memory[1], call.dtype, at(head, call.k, key, c));
      score *= call.scale;
      if (call.has_mask) score += float_at(memory[3], call.dtype, at(head, call.mask, query, key));
      largest = std::max(largest, shares[static_cast<size_t>(key)] = score);
    }
    for (double& share : shares) total += share = std::exp(share - largest);
    for (int64_t c = 0; c < call.width; ++c) {
      double sum = 0;
      for (int64_t key = 0; key < call.keys; ++key)
        sum += shares[static_cast<size_t>(key)] *
               float_at(memory[2], call.dtype, at(head, call.v, key, c));
      put_float(memory.back(), call.dtype, at(head, call.result, query, c),
                static_cast<float>(sum / total));
    }
  }
}

}  // namespace host_calls

/// A device that is this process: its memory is this machine's, its queues run when asked to wait.
/// The clock of a queue counts what it is asked to do, and the host's what that takes to ask for
/// it; its cache holds the blocks of memory that were used last. It can be short of memory, refuse
/// calls and fail for good. A block of memory that queues use in no order (queue_order.h) is a
/// failure of the test.
class HostDevice : public device::Device {
 public:
  explicit HostDevice(device::Precision precision = device::Precision::kFloat32)
      : precision_(precision) {
    HostDevice::need_queues(1);
  }
  ~HostDevice() override {
    EXPECT_TRUE(blocks_.empty()) << blocks_.size() << " blocks were not released";
    for (const std::string& race : races) ADD_FAILURE() << race;
  }

  // What a test sets.
  std::function<bool(const device::Call&)> refuses = [](const device::Call&) { return false; };
  int64_t memory_limit = int64_t{1} << 40;
  bool computes = true;  ///< whether kernels do their work, or only take time
  int works_for = std::numeric_limits<int>::max();  ///< launches before it fails for good
  int64_t workspace = 0;  ///< that every kernel asks for, and fills with NaNs
  /// Seconds that a launch takes on the device's clock, without what it does.
  std::function<double(const device::Call&)> time_of = [](const device::Call&) { return 1e-6; };
  double seconds_of_set = 1e-5;
  double latency =
      0;  ///< seconds from the host's wish that a kernel or recording be launched to the queue
  double seconds_of_wait = 0;  ///< from a mark to what waits for it in another queue
  int dropped_wait = -1;  ///< number of a wait, counted as `waits` counts them, that is forgotten

  // What a test reads.
  int64_t allocated = 0;
  int64_t most_allocated = 0;
  int launches = 0;
  int warm_launches = 0;  ///< that found all their memory in the cache
  std::vector<std::byte> last_upload;
  int waits = 0;                   ///< for marks of other queues
  std::vector<std::string> races;  ///< uses of memory in no order

  device::DeviceInfo info() override {
    return {.name = "host device",
            .driver = "1",
            .library = "loops 1.0",
            .memory_bytes = memory_limit,
            .cache_bytes = kCacheBytes,
            .clock_mhz = 1000};
  }
  device::Precision precision() const override { return precision_; }

  std::byte* allocate(int64_t bytes) override {
    if (allocated + bytes > memory_limit)
      throw InputError("out of memory: {} bytes asked for, {} of {} free", bytes,
                       memory_limit - allocated, memory_limit);
    auto block = std::make_unique<std::byte[]>(static_cast<size_t>(bytes));
    std::byte* at = block.get();
    std::memset(at, 0xff, static_cast<size_t>(bytes));
    blocks_[at] = {std::move(block), bytes};
    allocated += bytes;
    most_allocated = std::max(most_allocated, allocated);
    return at;
  }
  void release(std::byte* memory) override {
    drain();
    std::erase(cached_, memory);
    allocated -= blocks_.at(memory).bytes;
    blocks_.erase(memory);
  }
  void upload(std::byte* to, std::span<const std::byte> from) override {
    drain();
    last_upload.assign(from.begin(), from.end());
    std::copy(from.begin(), from.end(), to);
  }
  void download(std::span<std::byte> to, const std::byte* from) override {
    synchronize();
    std::copy_n(from, to.size(), to.data());
  }
  void set(std::byte* memory, std::byte value, int64_t bytes) override {
    submit([this, memory, value, bytes](int queue) {
      std::fill_n(memory, bytes, value);
      is_warm(std::vector{memory});
      use(queue, memory, true);
      time_of_queue(queue) += seconds_of_set;
    });
  }

  std::unique_ptr<device::Kernel> prepare(const device::Call& call) override {
    return refuses(call) ? nullptr : std::make_unique<HostKernel>(*this, call);
  }
  std::unique_ptr<device::Recording> record(const std::function<void()>& launches) override {
    REVERIE_CHECK(!recording_, "a recording within a recording");
    auto recorded = std::make_unique<HostRecording>(*this, queue_);
    recording_ = recorded.get();
    try {
      launches();
      REVERIE_CHECK_EQ(queue_, recorded->first);
      recorded->finish();
    } catch (...) {  // the queues are to be of use again
      queue_ = recorded->first;
      recording_ = nullptr;
      throw;
    }
    recording_ = nullptr;
    return recorded;
  }
  void synchronize() override {
    drain();
    host_clock_ = std::max(host_clock_, *std::max_element(times_.begin(), times_.end()));
    if (launches > works_for) throw DeviceError("host device: failed for good");
    if (std::exchange(bad_index_, false)) throw InputError("Gather: an index is out of range");
  }
  double seconds(const std::function<void()>& launches) override {
    double begin = 0;
    submit([this, &begin](int queue) { begin = time_of_queue(queue); });
    launches();
    synchronize();
    return time_of_queue(queue_) - begin;
  }

  void need_queues(int count) override {
    REVERIE_CHECK(!recording_, "queues are made while it is recorded");
    while (static_cast<int>(queues_.size()) < count) queues_.push_back(new_queue());
  }
  void use_queue(int queue) override { queue_ = queues_.at(static_cast<size_t>(queue)); }
  std::unique_ptr<device::Mark> mark() override {
    auto mark = std::make_unique<HostMark>();
    submit([this, point = mark->point](int queue) {
      *point = {queue, order_.now(queue), time_of_queue(queue)};
    });
    mark->recording = recording_;
    if (recording_ != nullptr) mark->recorded = recording_->clock(queue_);
    return mark;
  }
  void wait_for(const device::Mark& which) override {
    const auto& mark = dynamic_cast<const HostMark&>(which);
    REVERIE_CHECK(mark.recording == recording_, "a wait for a mark of another recording");
    if (recording_ != nullptr) recording_->wait(queue_, mark.recorded);
    submit([this, point = mark.point](int queue) {
      if (point->queue == queue) return;
      if (waits++ == dropped_wait) return;
      order_.wait(queue, point->clock);
      time_of_queue(queue) = std::max(time_of_queue(queue), point->time + seconds_of_wait);
    });
  }

 private:
  static constexpr int64_t kCacheBytes = 1 << 16;

  struct Block {
    std::unique_ptr<std::byte[]> memory;
    int64_t bytes = 0;
  };
  /// To be done in a queue, whose number it is told.
  using Work = std::function<void(int queue)>;

  class HostKernel : public device::Kernel {
   public:
    HostKernel(HostDevice& device, device::Call call) : device_(device), call_(std::move(call)) {}
    int64_t workspace_bytes() const override { return device_.workspace; }
    void launch(std::span<std::byte* const> memory, std::byte* workspace) override {
      device_.wait_to_launch();
      device_.submit([device = &device_, call = call_, workspace,
                      at = std::vector<std::byte*>(memory.begin(), memory.end())](int queue) {
        ++device->launches;
        device->warm_launches += device->is_warm(at);
        device->time_of_queue(queue) += device->time_of(call);
        device->use(queue, call, at, workspace);
        if (device->workspace > 0) std::fill_n(workspace, device->workspace, std::byte{0xff});
        if (device->computes) std::visit([&](const auto& one) { device->run(one, at); }, call);
      });
    }

   private:
    HostDevice& device_;
    device::Call call_;
  };

  struct HostRecording : device::Recording {
    HostRecording(HostDevice& d, int queue) : device(d), first(queue) {
      joined[queue] = order.add();
    }

    void launch() override {
      device.wait_to_launch();
      for (const auto& [queue, one] : work)
        device.submit(queue == first ? device.queue_ : queue, one);
    }
    QueueOrder::Clock clock(int queue) { return order.now(own(queue)); }
    void wait(int queue, const QueueOrder::Clock& mark) {
      if (!joined.contains(queue)) joined[queue] = order.add();
      order.wait(joined[queue], mark);
    }
    void add(int queue, Work one) {
      order.begin(own(queue));
      work.emplace_back(queue, std::move(one));
    }
    /// Others than the first are none of the device's from now on.
    void finish() {
      std::map<int, int> own_queues;
      for (const auto& [queue, number] : joined) {
        REVERIE_CHECK(order.has_joined(own(first), number),
                      "a recording does not wait for a queue");
        own_queues[queue] = queue == first ? first : device.new_queue();
      }
      for (auto& [queue, one] : work) queue = own_queues.at(queue);
    }
    int own(int queue) {
      REVERIE_CHECK(joined.contains(queue), "a queue that has not joined the recording");
      return joined.at(queue);
    }

    HostDevice& device;
    int first;
    std::vector<std::pair<int, Work>> work;  ///< with its queue
    QueueOrder order;                        ///< while it is recorded
    std::map<int, int> joined;               ///< queues of the device, as `order` numbers them
  };

  struct HostMark : device::Mark {
    struct Point {
      int queue = 0;
      QueueOrder::Clock clock;
      double time = 0;
    };
    std::shared_ptr<Point> point = std::make_shared<Point>();  ///< of the last time that it was met
    QueueOrder::Clock recorded;
    const HostRecording* recording = nullptr;
  };

  int new_queue() {
    times_.push_back(0);
    return order_.add();
  }
  double& time_of_queue(int queue) { return times_[static_cast<size_t>(queue)]; }
  void drain() {
    REVERIE_CHECK(!recording_, "waits while it is recorded");
    for (const auto& work : std::exchange(submitted_, {})) work();
    order_.meet();
  }
  void wait_to_launch() {
    if (recording_ == nullptr) host_clock_ += latency;
  }
  void submit(Work work) { submit(queue_, std::move(work)); }
  void submit(int queue, Work work) {
    if (recording_ != nullptr) return recording_->add(queue, std::move(work));
    submitted_.push_back([this, queue, queued_at = host_clock_, work = std::move(work)] {
      time_of_queue(queue) = std::max(time_of_queue(queue), queued_at);
      order_.begin(queue);
      work(queue);
    });
  }
  std::byte* block_of(std::byte* memory) const {
    return std::prev(blocks_.upper_bound(memory))->first;
  }
  void use(int queue, std::byte* memory, bool writes) {
    const std::string wrong = order_.use(queue, block_of(memory), writes);
    if (!wrong.empty()) races.push_back(wrong);
  }
  void use(int queue, const device::Call& call, const std::vector<std::byte*>& at,
           std::byte* workspace) {
    const auto* movement = std::get_if<device::Movement>(&call);
    const size_t reads =
        at.size() - (movement != nullptr ? static_cast<size_t>(movement->writes) : 1);
    for (size_t i = 0; i < at.size(); ++i) use(queue, at[i], i >= reads);
    if (this->workspace > 0) use(queue, workspace, true);
  }
  /// Whether the blocks with this memory are all in the cache, into which they come now.
  bool is_warm(const std::vector<std::byte*>& memory) {
    bool is_warm = true;
    for (std::byte* at : memory) {
      std::byte* block = block_of(at);
      is_warm &= std::erase(cached_, block) > 0;
      cached_.push_back(block);
    }
    int64_t bytes = 0;
    const auto first = std::find_if(cached_.rbegin(), cached_.rend(), [&](std::byte* block) {
      bytes += blocks_.at(block).bytes;
      return bytes > kCacheBytes;
    });
    cached_.erase(cached_.begin(), first.base());
    return is_warm;
  }
  template <typename T>
  void run(const T& call, std::span<std::byte* const> memory) {
    host_calls::run(call, memory);
  }
  void run(const device::Gather& call, std::span<std::byte* const> memory) {
    for (int64_t i = 0; i < call.outer * call.count * call.inner_bytes; ++i)
      bad_index_ |= !gather_byte(call, memory[0], memory[1], memory[2], i);
  }

  device::Precision precision_;
  std::map<std::byte*, Block> blocks_;
  std::vector<std::function<void()>> submitted_;
  HostRecording* recording_ = nullptr;
  bool bad_index_ = false;
  QueueOrder order_;
  std::vector<double> times_;  ///< by queue, those within recordings included
  std::vector<int> queues_;    ///< as `order_` numbers them
  int queue_ = 0;              ///< that is in use, likewise
  double host_clock_ = 0;
  std::vector<std::byte*> cached_;  ///< blocks, the last used at the end
};

}  // namespace reverie::testing
