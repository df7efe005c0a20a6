#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/compact.h"
#include "core/ir/half.h"

/// HDF5 files as byte strings, made and read in memory: what stands on disk is read once, checked
/// and written aside by core/base/files.h. Calls are serialised, as the library asks for.
namespace reverie::hdf5 {

enum class Element { kUint8, kUint16, kUint32, kInt32, kInt64, kUint64, kHalf, kFloat32, kFloat64 };

template <class T>
constexpr Element element_of();
template <>
constexpr Element element_of<uint8_t>() {
  return Element::kUint8;
}
template <>
constexpr Element element_of<uint16_t>() {
  return Element::kUint16;
}
template <>
constexpr Element element_of<uint32_t>() {
  return Element::kUint32;
}
template <>
constexpr Element element_of<int32_t>() {
  return Element::kInt32;
}
template <>
constexpr Element element_of<int64_t>() {
  return Element::kInt64;
}
template <>
constexpr Element element_of<uint64_t>() {
  return Element::kUint64;
}
template <>
constexpr Element element_of<Float16>() {
  return Element::kHalf;
}
template <>
constexpr Element element_of<float>() {
  return Element::kFloat32;
}
template <>
constexpr Element element_of<double>() {
  return Element::kFloat64;
}

/// Makes one file. Equal content in equal order gives equal bytes: no times are kept.
class Writer {
 public:
  Writer();
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void group(const std::string& name);
  void attribute(const std::string& name, uint64_t value);
  void attribute(const std::string& name, int value) {
    attribute(name, static_cast<uint64_t>(value));
  }
  void text(const std::string& name, std::string_view value);
  /// One dimension where `columns` is 1, otherwise [values / columns, columns]; compressed.
  template <class T>
  void array(const std::string& name, const std::vector<T>& values, size_t columns = 1) {
    write(name, element_of<T>(), values.data(), values.size(), columns);
  }
  void array(const std::string& name, const CompactInts& values, size_t columns = 1);
  /// All texts one after the other as `name`, the bytes of each as `sizes`.
  void texts(const std::string& name, const std::string& sizes,
             const std::vector<std::string>& values);

  /// The bytes of the file. Nothing can be added after.
  std::string finish();

 private:
  void write(const std::string& name, Element element, const void* data, size_t count,
             size_t columns);

  int64_t file_ = -1;
};

/// Reads one file from its bytes. Errors are InputErrors that name `source`, the data set and the
/// reason.
class Reader {
 public:
  Reader(std::string_view bytes, std::string source);
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  uint64_t attribute(const std::string& name) const;
  std::string text(const std::string& name) const;
  /// All of it; the type must be the one written. `count` elements are expected.
  template <class T>
  std::vector<T> array(const std::string& name, size_t count) const {
    std::vector<T> values;
    read(name, element_of<T>(), count, [&] {
      values.resize(count);
      return values.data();
    });
    return values;
  }
  CompactInts integers(const std::string& name, size_t count) const;
  std::vector<std::string> texts(const std::string& name, const std::string& sizes) const;
  /// Elements of a data set.
  size_t count(const std::string& name) const;

  /// Refuses the file because of a data set.
  [[noreturn]] void refuse(const std::string& name, const std::string& reason) const;

 private:
  /// Asks for `room` once the data set is known to have `count` elements: a damaged file may ask
  /// for more than there are.
  void read(const std::string& name, Element element, size_t count,
            const std::function<void*()>& room) const;

  int64_t file_ = -1;
  std::string source_;
};

}  // namespace reverie::hdf5
