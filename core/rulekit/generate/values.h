#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/flat_map.h"
#include "core/rulekit/generate/operators.h"

namespace reverie::generate {

using ValueId = uint32_t;
inline constexpr ValueId kNoValue = FlatMap::kNone;
inline constexpr int kMostDepth = 4;

/// An operator applied to values; kNoValue for operands that it does not have.
struct Application {
  uint8_t op = 0;
  ValueId a = kNoValue;
  ValueId b = kNoValue;
  auto operator<=>(const Application&) const = default;
};

/// A tensor that some graph of few operators computes, with the first such graph.
struct Value {
  Application application;  ///< of an input: op kInputOp, a its number
  uint8_t operators = 0;    ///< of that graph
  uint8_t leaves = 0;       ///< inputs that the graph reads, each as often as it is read
  uint16_t extents = 0;     ///< index into ValueTable::extents
  uint32_t support = 0;     ///< the inputs that the graph reads, one bit each
  std::array<ValueId, kMostDepth - 1> nodes{kNoValue, kNoValue, kNoValue};  ///< ascending
  uint64_t fingerprint = 0;
  size_t content = 0;
};
inline constexpr uint8_t kInputOp = 255;

/// Values by content, each once, and the applications that are known to give each.
class ValueTable {
 public:
  ValueTable(std::vector<Operator> operators, const World& world);

  const std::vector<Operator>& operators() const { return operators_; }
  const std::vector<InputKind>& inputs() const { return inputs_; }
  const World& world() const { return world_; }
  size_t size() const { return values_.size(); }
  const Value& operator[](ValueId id) const { return values_[id]; }
  const Extents& extents(ValueId id) const { return extents_[values_[id].extents]; }
  const Extents& extents_at(uint16_t index) const { return extents_[index]; }
  size_t extents_count() const { return extents_.size(); }
  uint16_t intern(const Extents& extents);
  const uint64_t* content(ValueId id) const { return contents_.data() + values_[id].content; }

  ValueId find(uint64_t fingerprint) const { return by_fingerprint_.find(fingerprint); }
  /// The value of an application that `add` or `note` was called for.
  ValueId find(const Application& application) const {
    return by_application_.find(key(application));
  }
  ValueId add(const Application& application, uint16_t extents, uint64_t fingerprint,
              std::span<const uint64_t> content);
  /// Another application with the value `id`. `equal`: it is proved equal to the first one by rules
  /// that are kept, and may stand for it.
  void note(ValueId id, const Application& application);
  void add_equal(ValueId id, const Application& application);

  /// Calls visit(application) for each application that may stand for the value; true ends.
  template <class Visit>
  bool any_equal(ValueId id, Visit visit) const {
    if (visit(values_[id].application)) return true;
    for (uint32_t at = first_equal_[id]; at != kNoValue; at = equals_[at].next)
      if (visit(equals_[at].application)) return true;
    return false;
  }

  /// Number of operators of the graph that the application completes.
  int operators_of(const Application& application) const;
  uint32_t support_of(const Application& application) const;
  int leaves_of(const Application& application) const;
  /// Whether the inputs are the first ones of each kind: others are the same but for their names.
  bool is_canonical(uint32_t support) const;
  static uint64_t fingerprint(const Extents& extents, const uint64_t* content);
  /// The other output of the Split that made the value; kNoValue where there is none.
  ValueId sibling(ValueId id) const;

 private:
  struct Equal {
    Application application;
    uint32_t next;
  };

  static uint64_t key(const Application& application) {
    return (uint64_t{application.op} << 56) | (uint64_t{application.a & 0xfffffff} << 28) |
           (application.b & 0xfffffff);
  }
  int count_nodes(const Application& application, std::array<ValueId, 2 * kMostDepth>& nodes) const;
  Application split_partner(const Application& application) const;

  std::vector<Operator> operators_;
  std::vector<InputKind> inputs_;
  World world_;
  std::vector<Extents> extents_;
  std::vector<Value> values_;
  std::vector<uint64_t> contents_;
  std::vector<uint32_t> first_equal_;
  std::vector<Equal> equals_;
  FlatMap by_fingerprint_, by_application_;
  std::vector<uint32_t> kinds_;  ///< bits of each kind of input
};

}  // namespace reverie::generate
