#include "core/ir/attributes.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <bit>

#include "core/base/error.h"
#include "core/base/hash.h"

namespace reverie {
namespace {

constexpr std::string_view kKindNames[] = {"an integer", "a number", "a text",
                                           "integers",   "numbers",  "texts"};

template <typename T>
const T& require(const Attributes& attributes, std::string_view name) {
  const AttrValue* value = attributes.find(name);
  if (value == nullptr) throw InputError("attribute '{}' is missing", name);
  if (const T* typed = std::get_if<T>(value)) return *typed;
  throw InputError("attribute '{}' is {}, not {}", name, kKindNames[value->index()],
                   kKindNames[AttrValue(T{}).index()]);
}

/// -0.0 is equal to 0.0, whose bits are others.
double without_sign_of_zero(double number) { return number == 0 ? 0 : number; }

uint64_t hash_value(const AttrValue& value) {
  return std::visit(
      [](const auto& v) -> uint64_t {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, int64_t>) {
          return static_cast<uint64_t>(v);
        } else if constexpr (std::is_same_v<T, double>) {
          return std::bit_cast<uint64_t>(without_sign_of_zero(v));
        } else if constexpr (std::is_same_v<T, std::string>) {
          return hash_string(v);
        } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          uint64_t hash = v.size();
          for (const std::string& text : v) hash = hash_combine(hash, hash_string(text));
          return hash;
        } else if constexpr (std::is_same_v<T, std::vector<double>>) {
          std::vector<double> numbers(v.size());
          std::ranges::transform(v, numbers.begin(), without_sign_of_zero);
          return hash_bytes(numbers.data(), numbers.size() * sizeof(double));
        } else {
          return hash_bytes(v.data(), v.size() * sizeof(v[0]));
        }
      },
      value);
}

}  // namespace

Attributes::Attributes(std::initializer_list<Entry> entries) {
  for (const Entry& entry : entries) set(entry.first, entry.second);
}

Attributes Attributes::of_samples(std::span<const Attributes> samples) {
  Attributes result = samples[0];
  const auto is_first = [&](const Attributes& other) { return other == samples[0]; };
  if (!std::ranges::all_of(samples, is_first))
    result.other_samples_ =
        std::make_shared<const std::vector<Attributes>>(samples.begin() + 1, samples.end());
  return result;
}

Attributes Attributes::at(size_t sample) const {
  if (varies() && sample > 0) return other_samples_->at(sample - 1);
  Attributes result = *this;
  result.other_samples_ = nullptr;
  return result;
}

template <class Change>
void Attributes::change_other_samples(const Change& change) {
  if (!varies()) return;
  std::vector<Attributes> samples = {at(0)};
  samples.insert(samples.end(), other_samples_->begin(), other_samples_->end());
  std::for_each(samples.begin() + 1, samples.end(), change);
  other_samples_ = of_samples(samples).other_samples_;
}

bool Attributes::operator==(const Attributes& other) const {
  if (entries_ != other.entries_ || varies() != other.varies()) return false;
  return other_samples_ == other.other_samples_ || *other_samples_ == *other.other_samples_;
}

void Attributes::set(std::string_view name, AttrValue value) {
  const auto at = std::lower_bound(entries_.begin(), entries_.end(), name,
                                   [](const Entry& e, std::string_view n) { return e.first < n; });
  if (at != entries_.end() && at->first == name) {
    at->second = value;
  } else {
    entries_.emplace(at, std::string(name), value);
  }
  change_other_samples([&](Attributes& other) { other.set(name, value); });
}

void Attributes::erase(std::string_view name) {
  std::erase_if(entries_, [&](const Entry& entry) { return entry.first == name; });
  change_other_samples([&](Attributes& other) { other.erase(name); });
}

const AttrValue* Attributes::find(std::string_view name, size_t sample) const {
  if (varies() && sample > 0) return other_samples_->at(sample - 1).find(name);
  for (const Entry& entry : entries_)
    if (entry.first == name) return &entry.second;
  return nullptr;
}

int64_t Attributes::integer(std::string_view name) const { return require<int64_t>(*this, name); }

double Attributes::number(std::string_view name) const {
  const AttrValue* value = find(name);
  if (value != nullptr && std::holds_alternative<int64_t>(*value))
    return static_cast<double>(std::get<int64_t>(*value));
  return require<double>(*this, name);
}

const std::string& Attributes::text(std::string_view name) const {
  return require<std::string>(*this, name);
}

const std::vector<int64_t>& Attributes::integers(std::string_view name) const {
  return require<std::vector<int64_t>>(*this, name);
}

int64_t Attributes::integer(std::string_view name, int64_t otherwise) const {
  return has(name) ? integer(name) : otherwise;
}

double Attributes::number(std::string_view name, double otherwise) const {
  return has(name) ? number(name) : otherwise;
}

std::string Attributes::text(std::string_view name, std::string_view otherwise) const {
  return has(name) ? text(name) : std::string(otherwise);
}

std::vector<int64_t> Attributes::integers(std::string_view name,
                                          std::vector<int64_t> otherwise) const {
  return has(name) ? integers(name) : std::move(otherwise);
}

uint64_t Attributes::hash() const {
  uint64_t hash = entries_.size();
  for (const Entry& entry : entries_) {
    hash = hash_combine(hash, hash_string(entry.first));
    hash = hash_combine(hash, hash_combine(entry.second.index(), hash_value(entry.second)));
  }
  if (varies())
    for (const Attributes& other : *other_samples_) hash = hash_combine(hash, other.hash());
  return hash;
}

std::string to_string(const AttrValue& value) {
  return std::visit(
      [](const auto& v) -> std::string {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::string>) {
          return fmt::format("\"{}\"", v);
        } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          return fmt::format("[\"{}\"]", fmt::join(v, "\", \""));
        } else if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, double>) {
          return fmt::format("{}", v);
        } else {
          return fmt::format("[{}]", fmt::join(v, ", "));
        }
      },
      value);
}

}  // namespace reverie
