#include <hdf5.h>

#include <cstdio>
#include <fstream>
#include <vector>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/hash.h"
#include "core/base/hdf5_mutex.h"
#include "core/cost/table.h"

namespace reverie {
namespace {

constexpr char kMagic[] = "reverie cost table";
constexpr int kVersion = 1;
constexpr size_t kSealBytes = 512;  // the least user block that HDF5 has

/// The table as columns, which is how it lies in the file.
struct Columns {
  std::vector<uint8_t> signatures;
  std::vector<int64_t> ends, runtime, estimate, flops, bytes, launches;
  std::vector<int32_t> repeats;
  std::vector<double> spread;

  template <class Visit>
  void visit(Visit&& visit) {
    visit("signatures", signatures);
    visit("ends", ends);
    visit("runtime_ps", runtime);
    visit("estimate_ps", estimate);
    visit("flops", flops);
    visit("bytes", bytes);
    visit("launches", launches);
    visit("repeats", repeats);
    visit("spread", spread);
  }
};

Columns columns_of(const CostTable& table) {
  Columns columns;
  for (const auto& [signature, entry] : table.entries) {
    columns.signatures.insert(columns.signatures.end(), signature.begin(), signature.end());
    columns.ends.push_back(static_cast<int64_t>(columns.signatures.size()));
    columns.runtime.push_back(entry.runtime.count);
    columns.estimate.push_back(entry.estimate.count);
    columns.flops.push_back(entry.flops);
    columns.bytes.push_back(entry.bytes);
    columns.launches.push_back(entry.launches);
    columns.repeats.push_back(entry.repeats);
    columns.spread.push_back(entry.spread);
  }
  return columns;
}

std::map<std::string, TableEntry> entries_of(const Columns& columns) {
  std::map<std::string, TableEntry> entries;
  int64_t begin = 0;
  for (size_t i = 0; i < columns.ends.size(); ++i) {
    const int64_t end = columns.ends[i];
    if (end < begin || end > static_cast<int64_t>(columns.signatures.size()))
      throw InputError("its signatures overlap");
    const std::string text(columns.signatures.begin() + begin, columns.signatures.begin() + end);
    entries[text] = {.runtime = {columns.runtime[i]},
                     .spread = columns.spread[i],
                     .repeats = columns.repeats[i],
                     .estimate = {columns.estimate[i]},
                     .flops = columns.flops[i],
                     .bytes = columns.bytes[i],
                     .launches = columns.launches[i]};
    begin = end;
  }
  return entries;
}

/// An id of HDF5 that closes itself. InputError when the library failed to give one.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t), const std::string& what) : id_(id), close_(close) {
    if (id < 0) throw InputError("{} cannot be read or written", what);
  }
  ~Handle() { close_(id_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  operator hid_t() const { return id_; }  // NOLINT: stands for the id

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

void require(herr_t status, const std::string& what) {
  if (status < 0) throw InputError("{} cannot be read or written", what);
}

/// Holds the library, which prints its stack of errors unless told otherwise.
class QuietLock {
 public:
  QuietLock() {
    H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~QuietLock() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }
  QuietLock(const QuietLock&) = delete;
  QuietLock& operator=(const QuietLock&) = delete;

 private:
  std::lock_guard<std::mutex> lock_{hdf5_mutex()};
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

hid_t type_of(uint8_t) { return H5T_STD_U8LE; }
hid_t type_of(int32_t) { return H5T_STD_I32LE; }
hid_t type_of(int64_t) { return H5T_STD_I64LE; }
hid_t type_of(double) { return H5T_IEEE_F64LE; }

template <class T>
void write_column(hid_t file, const char* name, const std::vector<T>& column) {
  const hsize_t count = column.size();
  const Handle space(H5Screate_simple(1, &count, nullptr), H5Sclose, name);
  const Handle options(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, name);
  require(H5Pset_obj_track_times(options, false), name);
  const Handle set(
      H5Dcreate2(file, name, type_of(T{}), space, H5P_DEFAULT, options, H5P_DEFAULT), H5Dclose,
      name);
  if (count > 0)
    require(H5Dwrite(set, type_of(T{}), H5S_ALL, H5S_ALL, H5P_DEFAULT, column.data()), name);
}

template <class T>
void read_column(hid_t file, const char* name, std::vector<T>& column) {
  const Handle set(H5Dopen2(file, name, H5P_DEFAULT), H5Dclose, name);
  const Handle space(H5Dget_space(set), H5Sclose, name);
  hsize_t count = 0;
  if (H5Sget_simple_extent_ndims(space) != 1) throw InputError("{} has another shape", name);
  H5Sget_simple_extent_dims(space, &count, nullptr);
  column.resize(count);
  if (count > 0)
    require(H5Dread(set, type_of(T{}), H5S_ALL, H5S_ALL, H5P_DEFAULT, column.data()), name);
}

void write_text(hid_t file, const char* name, const std::string& text) {
  const Handle type(H5Tcopy(H5T_C_S1), H5Tclose, name);
  require(H5Tset_size(type, text.size() + 1), name);
  const Handle space(H5Screate(H5S_SCALAR), H5Sclose, name);
  const Handle attribute(H5Acreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
                         name);
  require(H5Awrite(attribute, type, text.c_str()), name);
}

std::string read_text(hid_t file, const char* name) {
  const Handle attribute(H5Aopen(file, name, H5P_DEFAULT), H5Aclose, name);
  const Handle type(H5Aget_type(attribute), H5Tclose, name);
  const size_t size = H5Tget_size(type);
  if (H5Tget_class(type) != H5T_STRING || size == 0) throw InputError("{} is no text", name);
  std::string text(size, '\0');
  require(H5Aread(attribute, type, text.data()), name);
  return text.substr(0, text.find('\0'));
}

CostTable read(const std::string& path) {
  const Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose, "the HDF5 part");
  CostTable table{.device = read_text(file, "device"),
                  .library = read_text(file, "library"),
                  .profile = read_text(file, "profile"),
                  .entries = {}};
  Columns columns;
  columns.visit([&](const char* name, auto& column) {
    read_column(file, name, column);
    if (name != std::string_view("signatures") && column.size() != columns.ends.size())
      throw InputError("its columns differ in length");
  });
  table.entries = entries_of(columns);
  return table;
}

/// The HDF5 part alone, with an empty user block before it.
void write(const std::string& path, const CostTable& table) {
  const Handle options(H5Pcreate(H5P_FILE_CREATE), H5Pclose, "the file");
  require(H5Pset_userblock(options, kSealBytes), "the file");
  const Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, options, H5P_DEFAULT), H5Fclose,
                    "the file");
  write_text(file, "device", table.device);
  write_text(file, "library", table.library);
  write_text(file, "profile", table.profile);
  Columns columns = columns_of(table);
  columns.visit([&](const char* name, auto& column) { write_column(file, name, column); });
}

/// The seal that belongs to a file of this content.
std::string seal_of(std::string_view content) {
  const uint64_t checksum = hash_bytes(content.data() + kSealBytes, content.size() - kSealBytes);
  return fmt::format("{}\nversion {}\nbytes {}\nchecksum {:016x}\n", kMagic, kVersion,
                     content.size(), checksum);
}

/// The library goes wrong on damaged files in ways of its own, so it is only shown whole ones.
void check_seal(const std::string& content) {
  int version = 0;
  if (!content.starts_with(kMagic) || content.size() < kSealBytes ||
      std::sscanf(content.c_str() + sizeof(kMagic), "version %d", &version) != 1)
    throw InputError("it does not begin as a cost table");
  if (version != kVersion)
    throw InputError("it is of version {}, this program reads version {}", version, kVersion);
  if (!content.starts_with(seal_of(content)))
    throw InputError("it is damaged: size or checksum differ");
}

}  // namespace

CostTable read_cost_table(const std::string& path) {
  const QuietLock lock;
  const std::string content = read_file(path);
  return with_context(fmt::format("cost table '{}'", path), [&] {
    check_seal(content);
    return read(path);
  });
}

void write_cost_table(const std::string& path, const CostTable& table) {
  const QuietLock lock;
  const AsideFile aside(path);
  with_context(fmt::format("cost table '{}'", path), [&] { write(aside.temporary(), table); });
  std::string content = read_file(aside.temporary());
  const std::string seal = seal_of(content);
  content.replace(0, seal.size(), seal);
  write_file(path, content);
}

bool is_cost_table(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  return std::getline(file, line) && line == kMagic;
}

}  // namespace reverie
