#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace reverie {

/// Transfers to devices whose receiving engines take one after the other. So they begin and arrive
/// in the order of their requests, and of each device's only the next need be among the events.
class ReceiveLanes {
 public:
  struct Transfer {
    int64_t start, end;
    int tensor;
  };
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  void reserve(size_t devices, size_t transfers) {
    lanes_.reserve(devices);
    links_.reserve(transfers);
  }
  /// Of a run that begins.
  void clear(size_t devices) {
    lanes_.assign(devices, {});
    links_.clear();
  }
  /// True: it is the next to arrive at the device.
  bool add(size_t device, const Transfer& transfer) {
    Lane& lane = lanes_[device];
    const auto number = static_cast<int>(links_.size());
    links_.push_back({transfer, kNone});
    if (lane.last != kNone) links_[static_cast<size_t>(lane.last)].next = number;
    lane.last = number;
    if (lane.begins == kNone) {
      lane.begins = number;
      lane.begins_at = transfer.start;
    }
    const bool is_next = lane.arrives == kNone;
    if (is_next) lane.arrives = number;
    return is_next;
  }
  /// The next to arrive has; returns the one after it, or nullptr.
  const Transfer* arrive(size_t device) {
    int& arrives = lanes_[device].arrives;
    arrives = links_[static_cast<size_t>(arrives)].next;
    return arrives == kNone ? nullptr : &links_[static_cast<size_t>(arrives)].transfer;
  }
  /// When the next to begin does, or kNever.
  int64_t begins_at(size_t device) const { return lanes_[device].begins_at; }
  /// Returns the next to begin, of which there must be one, and goes on to the one after it.
  const Transfer& begin(size_t device) {
    Lane& lane = lanes_[device];
    const Link& link = links_[static_cast<size_t>(lane.begins)];
    lane.begins = link.next;
    lane.begins_at =
        link.next == kNone ? kNever : links_[static_cast<size_t>(link.next)].transfer.start;
    return link.transfer;
  }

 private:
  static constexpr int kNone = -1;
  struct Link {
    Transfer transfer;
    int next;  ///< of the same device
  };
  struct Lane {
    int64_t begins_at = kNever;
    int begins = kNone, arrives = kNone, last = kNone;
  };

  std::vector<Lane> lanes_;  ///< by device
  std::vector<Link> links_;  ///< in the order of their requests
};

}  // namespace reverie
