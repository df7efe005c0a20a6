#include "core/rulekit/generate/values.h"

#include <algorithm>
#include <bit>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/rulekit/field/prime_field.h"

namespace reverie::generate {

ValueTable::ValueTable(std::vector<Operator> operators, const World& world)
    : operators_(std::move(operators)), inputs_(inputs_for(operators_)), world_(world) {
  REVERIE_CHECK(inputs_.size() <= 32 && operators_.size() < kInputOp);
  Rng rng(world.seed);
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Extents extents = extents_of(inputs_[i], world);
    std::vector<uint64_t> content(static_cast<size_t>(extents.size()));
    for (uint64_t& x : content) x = rng.below(field::kPrime);
    add({kInputOp, static_cast<ValueId>(i), kNoValue}, intern(extents),
        fingerprint(extents, content.data()), content);
    if (i == 0 || inputs_[i] != inputs_[i - 1]) kinds_.push_back(0);
    kinds_.back() |= uint32_t{1} << i;
  }
}

uint16_t ValueTable::intern(const Extents& extents) {
  const auto at =
      static_cast<size_t>(std::find(extents_.begin(), extents_.end(), extents) - extents_.begin());
  if (at == extents_.size()) extents_.push_back(extents);
  REVERIE_CHECK(extents_.size() < 65535);
  return static_cast<uint16_t>(at);
}

uint64_t ValueTable::fingerprint(const Extents& extents, const uint64_t* content) {
  uint64_t hash = extents.rank;
  for (const uint8_t dim : extents.dim) hash = hash << 8 | dim;
  const auto size = static_cast<size_t>(extents.size());
  for (size_t i = 0; i < size; ++i) {
    hash = (hash ^ content[i]) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 32;
  }
  return mix64(hash) >> 1;  // never FlatMap's empty key
}

Application ValueTable::split_partner(const Application& application) const {
  Application other = application;
  const Kind kind = operators_[application.op].kind;
  other.op =
      static_cast<uint8_t>(kind == Kind::kSplitFirst ? application.op + 1 : application.op - 1);
  return other;
}

ValueId ValueTable::sibling(ValueId id) const {
  const Application& made = values_[id].application;
  if (made.op == kInputOp || !is_split(operators_[made.op].kind)) return kNoValue;
  return find(split_partner(made));
}

int ValueTable::count_nodes(const Application& application,
                            std::array<ValueId, 2 * kMostDepth>& nodes) const {
  auto end = nodes.begin();
  for (const ValueId operand : {application.a, application.b}) {
    if (operand == kNoValue) continue;
    for (const ValueId node : values_[operand].nodes)
      if (node != kNoValue) *end++ = node;
  }
  std::sort(nodes.begin(), end);
  return static_cast<int>(std::unique(nodes.begin(), end) - nodes.begin());
}

int ValueTable::operators_of(const Application& application) const {
  if (application.op == kInputOp) return 0;
  if (application.b == kNoValue)
    return application.a == kNoValue ? 1 : values_[application.a].operators + 1;
  std::array<ValueId, 2 * kMostDepth> nodes;
  return count_nodes(application, nodes) + 1;
}

uint32_t ValueTable::support_of(const Application& application) const {
  if (application.op == kInputOp) return uint32_t{1} << application.a;
  uint32_t support = 0;
  for (const ValueId operand : {application.a, application.b})
    if (operand != kNoValue) support |= values_[operand].support;
  return support;
}

int ValueTable::leaves_of(const Application& application) const {
  if (application.op == kInputOp) return 1;
  int leaves = 0;
  for (const ValueId operand : {application.a, application.b})
    if (operand != kNoValue) leaves += values_[operand].leaves;
  return leaves;
}

bool ValueTable::is_canonical(uint32_t support) const {
  for (const uint32_t kind : kinds_) {
    const uint32_t used = support & kind;
    const uint32_t lowest = kind & (~kind + 1);
    if (((used + lowest) & used) != 0) return false;
  }
  return true;
}

ValueId ValueTable::add(const Application& application, uint16_t extents, uint64_t fingerprint,
                        std::span<const uint64_t> content) {
  const auto id = static_cast<ValueId>(values_.size());
  REVERIE_CHECK(id < 0xfffffff, "too many values");
  Value value;
  value.application = application;
  value.extents = extents;
  value.fingerprint = fingerprint;
  value.support = support_of(application);
  value.leaves = static_cast<uint8_t>(leaves_of(application));
  value.content = contents_.size();
  if (application.op != kInputOp) {
    std::array<ValueId, 2 * kMostDepth> nodes;
    const int count = count_nodes(application, nodes);
    REVERIE_CHECK(count < static_cast<int>(value.nodes.size()));
    std::copy_n(nodes.begin(), count, value.nodes.begin());
    ValueId own = id;
    if (is_split(operators_[application.op].kind)) {  // both outputs are one operator
      const ValueId other = find(split_partner(application));
      if (other != kNoValue && values_[other].application == split_partner(application))
        own = other;
    }
    value.nodes[static_cast<size_t>(count)] = own;
    std::sort(value.nodes.begin(), value.nodes.begin() + count + 1);
    value.operators = static_cast<uint8_t>(count + 1);
  }
  contents_.insert(contents_.end(), content.begin(), content.end());
  values_.push_back(value);
  first_equal_.push_back(kNoValue);
  by_fingerprint_.insert(fingerprint, id);
  if (application.op != kInputOp) by_application_.insert(key(application), id);
  return id;
}

void ValueTable::note(ValueId id, const Application& application) {
  by_application_.insert(key(application), id);
}

void ValueTable::add_equal(ValueId id, const Application& application) {
  equals_.push_back({application, first_equal_[id]});
  first_equal_[id] = static_cast<uint32_t>(equals_.size() - 1);
}

}  // namespace reverie::generate
