#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace reverie {

using AttrValue = std::variant<int64_t, double, std::string, std::vector<int64_t>,
                               std::vector<double>, std::vector<std::string>>;

/// The attributes of a node, sorted by name. Small; compared and hashed by content. Like a
/// TensorType they may differ by sample; what reads them sees sample 0.
class Attributes {
 public:
  Attributes() = default;
  Attributes(std::initializer_list<std::pair<std::string, AttrValue>> entries);
  static Attributes of_samples(std::span<const Attributes> samples);

  bool varies() const { return other_samples_ != nullptr; }
  size_t samples() const { return varies() ? other_samples_->size() + 1 : 1; }
  /// At one sample alone.
  Attributes at(size_t sample) const;

  /// At every sample.
  void set(std::string_view name, AttrValue value);
  void erase(std::string_view name);
  /// nullptr when absent.
  const AttrValue* find(std::string_view name, size_t sample = 0) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }

  // Checked access; InputError that names the attribute when it is absent or of another type.
  int64_t integer(std::string_view name) const;
  double number(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  const std::vector<int64_t>& integers(std::string_view name) const;

  // With a default for an absent attribute.
  int64_t integer(std::string_view name, int64_t otherwise) const;
  double number(std::string_view name, double otherwise) const;
  std::string text(std::string_view name, std::string_view otherwise) const;
  std::vector<int64_t> integers(std::string_view name, std::vector<int64_t> otherwise) const;

  using Entry = std::pair<std::string, AttrValue>;
  const std::vector<Entry>& entries() const { return entries_; }
  bool empty() const { return entries_.empty(); }
  uint64_t hash() const;
  bool operator==(const Attributes& other) const;

 private:
  /// Null where they are the same at every sample.
  using OtherSamples = std::shared_ptr<const std::vector<Attributes>>;
  template <class Change>
  void change_other_samples(const Change& change);

  std::vector<Entry> entries_;
  OtherSamples other_samples_;
};

/// "[1, 2]", "0.5", "\"same\"": the text form used in graphs, rules and signatures.
std::string to_string(const AttrValue& value);

}  // namespace reverie
