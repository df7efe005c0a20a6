#include "tests/fuzz/hdf5_image.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

namespace reverie::fuzz {
namespace {

using hdf5::Element;

class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : rest_(bytes) {}

  template <typename T>
  T take() {
    return take_all<T>(1)[0];
  }
  template <typename T>
  std::vector<T> take_all(size_t count) {
    std::vector<T> values(count);
    const size_t there = std::min(count * sizeof(T), rest_.size());
    if (there > 0) std::memcpy(values.data(), rest_.data(), there);
    rest_.remove_prefix(there);
    return values;
  }

 private:
  std::string_view rest_;
};

/// Calls with the type that an element has.
template <typename Function>
void with_type(Element element, const Function& function) {
  switch (element) {
    case Element::kUint8:
      return function(uint8_t());
    case Element::kUint16:
      return function(uint16_t());
    case Element::kUint32:
      return function(uint32_t());
    case Element::kInt32:
      return function(int32_t());
    case Element::kInt64:
      return function(int64_t());
    case Element::kUint64:
      return function(uint64_t());
    case Element::kHalf:
      return function(Float16());
    case Element::kFloat32:
      return function(float());
    case Element::kFloat64:
      return function(double());
  }
}

Element of_width(int width) {
  return width % 3 == 0 ? Element::kUint8 : width % 3 == 1 ? Element::kUint16 : Element::kUint32;
}

template <typename T>
void append(const T& value, std::string& bytes) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

std::set<std::string> groups_of(const Layout& layout) {
  std::set<std::string> groups;
  for (const DataSet& set : layout.data_sets)
    if (const std::string name = set.name; name.find('/') != name.npos)
      groups.insert(name.substr(0, name.find('/')));
  return groups;
}

}  // namespace

std::string image_of(const Layout& layout, std::string_view bytes) {
  Bytes rest(bytes);
  hdf5::Writer writer;
  for (const char* attribute : layout.attributes)
    writer.attribute(attribute, rest.take<uint64_t>());
  for (const std::string& group : groups_of(layout)) writer.group(group);
  for (const DataSet& set : layout.data_sets) {
    const Element narrow = of_width(rest.take<uint8_t>());
    const size_t columns = std::max<size_t>(rest.take<uint8_t>(), 1);
    const size_t count = rest.take<uint16_t>() / columns * columns;
    with_type(set.any_width ? narrow : set.element, [&](auto type) {
      writer.array(set.name, rest.take_all<decltype(type)>(count), columns);
    });
  }
  return writer.finish();
}

std::string bytes_of(const Layout& layout, const hdf5::Reader& reader) {
  std::string bytes;
  for (const char* attribute : layout.attributes) append(reader.attribute(attribute), bytes);
  for (const DataSet& set : layout.data_sets) {
    const size_t count = reader.count(set.name);
    append(uint8_t{2}, bytes);
    append(uint8_t{1}, bytes);
    append(static_cast<uint16_t>(count), bytes);
    if (set.any_width) {
      const CompactInts values = reader.integers(set.name, count);
      for (size_t i = 0; i < count; ++i) append(static_cast<uint32_t>(values[i]), bytes);
      continue;
    }
    with_type(set.element, [&](auto type) {
      for (const auto value : reader.array<decltype(type)>(set.name, count)) append(value, bytes);
    });
  }
  return bytes;
}

}  // namespace reverie::fuzz
