#include "core/hdf5/hdf5.h"

#include <hdf5.h>

#include <algorithm>
#include <mutex>

#include "core/base/error.h"

namespace reverie::hdf5 {
namespace {

constexpr size_t kImageIncrement = size_t{1} << 20;
constexpr hsize_t kChunkElements = hsize_t{1} << 16;
/// Half the entries of a node of a data set's index; by default (32) an index of one chunk is 2 KB.
constexpr unsigned kIndexHalfWidth = 2;
constexpr unsigned kDeflateLevel = 3;

/// Names a file in memory. The library takes files of equal names for the same one.
std::string unique_name() {
  static uint64_t serial = 0;
  return fmt::format("reverie image {}", serial++);
}

/// Held around every use of the library, of which not every build is safe for several threads; also
/// keeps it from printing.
class LibraryLock {
 public:
  LibraryLock() : lock_(mutex()) { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

 private:
  static std::mutex& mutex() {
    static std::mutex held;
    return held;
  }
  std::lock_guard<std::mutex> lock_;
};

/// Owns an identifier of any kind but a file.
class Id {
 public:
  Id(hid_t id) : id_(id) {}
  ~Id() {
    if (id_ >= 0) H5Idec_ref(id_);
  }
  Id(const Id&) = delete;
  Id& operator=(const Id&) = delete;
  operator hid_t() const { return id_; }

 private:
  hid_t id_;
};

herr_t innermost(unsigned, const H5E_error2_t* error, void* out) {
  if (error->desc != nullptr) *static_cast<std::string*>(out) = error->desc;
  return 1;  // the first is the innermost
}

std::string library_reason() {
  std::string reason = "unknown";
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, innermost, &reason);
  return reason;
}

hid_t half_type() {
  const hid_t type = H5Tcopy(H5T_IEEE_F32LE);
  H5Tset_fields(type, 15, 10, 5, 0, 10);
  H5Tset_size(type, 2);
  H5Tset_ebias(type, 15);
  return type;
}

hid_t type_of(Element element) {
  switch (element) {
    case Element::kUint8:
      return H5Tcopy(H5T_STD_U8LE);
    case Element::kUint16:
      return H5Tcopy(H5T_STD_U16LE);
    case Element::kUint32:
      return H5Tcopy(H5T_STD_U32LE);
    case Element::kInt32:
      return H5Tcopy(H5T_STD_I32LE);
    case Element::kInt64:
      return H5Tcopy(H5T_STD_I64LE);
    case Element::kUint64:
      return H5Tcopy(H5T_STD_U64LE);
    case Element::kHalf:
      return half_type();
    case Element::kFloat32:
      return H5Tcopy(H5T_IEEE_F32LE);
    case Element::kFloat64:
      return H5Tcopy(H5T_IEEE_F64LE);
  }
  return -1;
}

Element element_of_width(int width) {
  return width == 1 ? Element::kUint8 : width == 2 ? Element::kUint16 : Element::kUint32;
}

/// Data sets and groups without times.
template <class Make>
hid_t timeless(hid_t kind, Make make) {
  const Id properties(H5Pcreate(kind));
  H5Pset_obj_track_times(properties, false);
  return make(static_cast<hid_t>(properties));
}

void check_written(herr_t status, const std::string& name) {
  REVERIE_CHECK(status >= 0, "HDF5 could not write {}: {}", name, library_reason());
}

/// A data set of a reader's file, opened once for all that is asked of it.
class DataSet {
 public:
  DataSet(const Reader& reader, hid_t file, const std::string& name)
      : reader_(reader), name_(name), set_(H5Dopen2(file, name.c_str(), H5P_DEFAULT)) {
    if (set_ < 0) reader_.refuse(name_, "is missing");
    const Id space(H5Dget_space(set_));
    const hssize_t points = H5Sget_simple_extent_npoints(space);
    if (points < 0) reader_.refuse(name_, library_reason());
    count_ = static_cast<size_t>(points);
  }

  size_t count() const { return count_; }
  /// Bytes of an element.
  int width() const { return static_cast<int>(H5Tget_size(Id(H5Dget_type(set_)))); }

  void require_count(size_t expected) const {
    if (count_ != expected)
      reader_.refuse(name_, fmt::format("has {} elements where {} are expected", count_, expected));
  }
  /// All elements; the type must be the one written.
  void read(Element element, void* data) const {
    const Id type(type_of(element)), stored(H5Dget_type(set_));
    if (H5Tequal(stored, type) <= 0) reader_.refuse(name_, "has elements of another type");
    if (count_ > 0 && H5Dread(set_, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0)
      reader_.refuse(name_, library_reason());
  }

 private:
  const Reader& reader_;
  const std::string& name_;
  Id set_;
  size_t count_ = 0;
};

}  // namespace

Writer::Writer() {
  const LibraryLock lock;
  const Id access(H5Pcreate(H5P_FILE_ACCESS));
  H5Pset_fapl_core(access, kImageIncrement, false);
  file_ = timeless(H5P_FILE_CREATE, [&](hid_t properties) {
    H5Pset_istore_k(properties, kIndexHalfWidth);
    return H5Fcreate(unique_name().c_str(), H5F_ACC_TRUNC, properties, access);
  });
  REVERIE_CHECK(file_ >= 0, "HDF5 could not make a file in memory: {}", library_reason());
}

Writer::~Writer() {
  const LibraryLock lock;
  if (file_ >= 0) H5Fclose(file_);
}

void Writer::group(const std::string& name) {
  const LibraryLock lock;
  const Id group(timeless(H5P_GROUP_CREATE, [&](hid_t properties) {
    return H5Gcreate2(file_, name.c_str(), H5P_DEFAULT, properties, H5P_DEFAULT);
  }));
  check_written(group < 0 ? -1 : 0, name);
}

void Writer::attribute(const std::string& name, uint64_t value) {
  const LibraryLock lock;
  const Id space(H5Screate(H5S_SCALAR)), type(type_of(Element::kUint64));
  const Id attribute(H5Acreate2(file_, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT));
  check_written(H5Awrite(attribute, type, &value), name);
}

void Writer::text(const std::string& name, std::string_view value) {
  write(name, Element::kUint8, value.data(), value.size(), 1);
}

void Writer::array(const std::string& name, const CompactInts& values, size_t columns) {
  write(name, element_of_width(values.width()), values.data(), values.size(), columns);
}

void Writer::texts(const std::string& name, const std::string& sizes,
                   const std::vector<std::string>& values) {
  std::string all;
  CompactInts bytes;
  for (const std::string& value : values) {
    all += value;
    bytes.push_back(static_cast<uint32_t>(value.size()));
  }
  array(sizes, bytes);
  text(name, all);
}

void Writer::write(const std::string& name, Element element, const void* data, size_t count,
                   size_t columns) {
  const LibraryLock lock;
  const hsize_t dims[2] = {columns > 0 ? count / columns : 0, columns};
  const int rank = columns == 1 ? 1 : 2;
  const Id type(type_of(element)), space(H5Screate_simple(rank, dims, nullptr));
  const Id set(timeless(H5P_DATASET_CREATE, [&](hid_t properties) {
    if (count > 0) {
      const hsize_t rows = std::max<hsize_t>(1, kChunkElements / std::max<hsize_t>(columns, 1));
      const hsize_t chunk[2] = {std::min(dims[0], rows), columns};
      H5Pset_chunk(properties, rank, chunk);
      H5Pset_shuffle(properties);
      H5Pset_deflate(properties, kDeflateLevel);
    }
    return H5Dcreate2(file_, name.c_str(), type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  }));
  check_written(set < 0 ? -1 : 0, name);
  if (count > 0) check_written(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data), name);
}

std::string Writer::finish() {
  const LibraryLock lock;
  check_written(H5Fflush(file_, H5F_SCOPE_GLOBAL), "the file");
  const ssize_t size = H5Fget_file_image(file_, nullptr, 0);
  REVERIE_CHECK(size > 0, "HDF5 gives no image: {}", library_reason());
  std::string image(static_cast<size_t>(size), '\0');
  REVERIE_CHECK_EQ(H5Fget_file_image(file_, image.data(), image.size()), size);
  H5Fclose(file_);
  file_ = -1;
  return image;
}

Reader::Reader(std::string_view bytes, std::string source) : source_(std::move(source)) {
  const LibraryLock lock;
  const Id access(H5Pcreate(H5P_FILE_ACCESS));
  H5Pset_fapl_core(access, kImageIncrement, false);
  H5Pset_file_image(access, const_cast<char*>(bytes.data()), bytes.size());
  file_ = H5Fopen(unique_name().c_str(), H5F_ACC_RDONLY, access);
  if (file_ < 0) throw InputError("{}: is no HDF5 file: {}", source_, library_reason());
}

Reader::~Reader() {
  const LibraryLock lock;
  if (file_ >= 0) H5Fclose(file_);
}

void Reader::refuse(const std::string& name, const std::string& reason) const {
  throw InputError("{}: data set {}: {}", source_, name, reason);
}

uint64_t Reader::attribute(const std::string& name) const {
  const LibraryLock lock;
  const Id attribute(H5Aopen(file_, name.c_str(), H5P_DEFAULT)), type(type_of(Element::kUint64));
  uint64_t value = 0;
  if (attribute < 0 || H5Aread(attribute, type, &value) < 0)
    throw InputError("{}: attribute {}: {}", source_, name, library_reason());
  return value;
}

std::string Reader::text(const std::string& name) const {
  const LibraryLock lock;
  const DataSet set(*this, file_, name);
  std::string value(set.count(), '\0');
  set.read(Element::kUint8, value.data());
  return value;
}

size_t Reader::count(const std::string& name) const {
  const LibraryLock lock;
  return DataSet(*this, file_, name).count();
}

void Reader::read(const std::string& name, Element element, size_t count,
                  const std::function<void*()>& room) const {
  const LibraryLock lock;
  const DataSet set(*this, file_, name);
  set.require_count(count);
  set.read(element, room());
}

std::vector<std::string> Reader::texts(const std::string& name, const std::string& sizes) const {
  const std::string all = text(name);
  const CompactInts bytes = integers(sizes, count(sizes));
  std::vector<std::string> values;
  size_t at = 0;
  for (size_t i = 0; i < bytes.size(); at += bytes[i++]) {
    if (bytes[i] > all.size() - at) break;
    values.push_back(all.substr(at, bytes[i]));
  }
  if (values.size() != bytes.size() || at != all.size())
    refuse(sizes, fmt::format("does not sum to the {} bytes of {}", all.size(), name));
  return values;
}

CompactInts Reader::integers(const std::string& name, size_t count) const {
  const LibraryLock lock;
  const DataSet set(*this, file_, name);
  const int width = set.width();
  if (width != 1 && width != 2 && width != 4) refuse(name, "has elements of another type");
  set.require_count(count);
  std::vector<uint8_t> bytes(count * static_cast<size_t>(width));
  set.read(element_of_width(width), bytes.data());
  return CompactInts(width, std::move(bytes));
}

}  // namespace reverie::hdf5
