#include "core/exec/npz.h"

#include <zlib.h>

#include <charconv>
#include <cstring>
#include <string_view>

#include "core/base/error.h"
#include "core/base/files.h"

namespace reverie {
namespace {

/// Bytes of a file, read with a look at its end.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}

  size_t size() const { return bytes_.size(); }
  std::string_view part(size_t at, size_t count) const {
    if (at > bytes_.size() || count > bytes_.size() - at) throw InputError("ends too early");
    return bytes_.substr(at, count);
  }
  uint64_t number(size_t at, size_t width) const {
    uint64_t value = 0;
    const std::string_view found = part(at, width);
    for (size_t i = 0; i < width; ++i)
      value |= static_cast<uint64_t>(static_cast<unsigned char>(found[i])) << (8 * i);
    return value;
  }
  size_t find_last(std::string_view what) const { return bytes_.rfind(what); }

 private:
  std::string_view bytes_;
};

/// An entry of the archive, as the central directory tells.
struct Entry {
  std::string name;
  uint64_t method = 0;
  size_t packed = 0;
  size_t unpacked = 0;
  size_t at = 0;  ///< of its local header
};

std::vector<Entry> entries_of(const Bytes& file) {
  const size_t end = file.find_last("PK\5\6");
  if (end == std::string_view::npos) throw InputError("is no .npz archive");
  const uint64_t count = file.number(end + 10, 2);
  size_t at = file.number(end + 16, 4);
  std::vector<Entry> entries;
  for (uint64_t i = 0; i < count; ++i) {
    if (file.part(at, 4) != "PK\1\2") throw InputError("its directory is broken");
    const size_t name = file.number(at + 28, 2), extra = file.number(at + 30, 2);
    entries.push_back({std::string(file.part(at + 46, name)), file.number(at + 10, 2),
                       file.number(at + 20, 4), file.number(at + 24, 4), file.number(at + 42, 4)});
    at += 46 + name + extra + file.number(at + 32, 2);
  }
  return entries;
}

std::string inflated(std::string_view packed, size_t size) {
  constexpr size_t kMostRatio = 1100;  // deflate does not pack tighter
  if (size / kMostRatio > packed.size()) throw InputError("unpacks to an impossible size");
  std::string result(size, '\0');
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw InputError("cannot be unpacked");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  const int status = inflate(&stream, Z_FINISH);
  const size_t written = stream.total_out;
  inflateEnd(&stream);
  if (status != Z_STREAM_END || written != size) throw InputError("cannot be unpacked");
  return result;
}

std::string content_of(const Bytes& file, const Entry& entry) {
  constexpr uint64_t kStored = 0, kDeflated = 8;
  if (file.part(entry.at, 4) != "PK\3\4") throw InputError("its directory is broken");
  const size_t start =
      entry.at + 30 + file.number(entry.at + 26, 2) + file.number(entry.at + 28, 2);
  const std::string_view packed = file.part(start, entry.packed);
  if (entry.method == kStored) return std::string(packed);
  if (entry.method == kDeflated) return inflated(packed, entry.unpacked);
  throw InputError("is packed by method {}, which is not known", entry.method);
}

DType dtype_of(std::string_view descr) {
  static const std::map<std::string_view, DType> types = {
      {"<f2", DType::kFloat16}, {"<f4", DType::kFloat32}, {"<f8", DType::kFloat64},
      {"|b1", DType::kBool},    {"|i1", DType::kInt8},    {"<i2", DType::kInt16},
      {"<i4", DType::kInt32},   {"<i8", DType::kInt64},   {"|u1", DType::kUInt8},
      {"<u2", DType::kUInt16},  {"<u4", DType::kUInt32},  {"<u8", DType::kUInt64}};
  const auto at = types.find(descr);
  if (at == types.end()) throw InputError("holds elements of type '{}', which is not known", descr);
  return at->second;
}

/// What stands behind `key` in the header, a Python dictionary, from the first of `begin` to `end`.
std::string_view field(std::string_view header, std::string_view key, char begin, char end) {
  const size_t name = header.find(key);
  const size_t from = name == std::string_view::npos ? name : header.find(begin, name + key.size());
  const size_t to = from == std::string_view::npos ? from : header.find(end, from + 1);
  if (to == std::string_view::npos) throw InputError("has a header that cannot be read");
  return header.substr(from + 1, to - from - 1);
}

Shape shape_of(std::string_view header) {
  Shape shape;
  std::string_view rest = field(header, "'shape':", '(', ')');
  while (true) {
    const size_t digit = rest.find_first_of("0123456789");
    if (digit == std::string_view::npos) break;
    rest.remove_prefix(digit);
    int64_t extent = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), extent);
    if (error != std::errc()) throw InputError("has a header that cannot be read");
    shape.push_back(extent);
    rest.remove_prefix(static_cast<size_t>(end - rest.data()));
  }
  require_sane(shape);
  return shape;
}

Tensor array_of(const std::string& content) {
  const Bytes bytes(content);
  if (bytes.part(0, 6) != "\x93NUMPY") throw InputError("is no array of NumPy");
  const size_t width = bytes.number(6, 1) == 1 ? 2 : 4;
  const std::string_view header = bytes.part(8 + width, bytes.number(8, width));
  if (header.find("'fortran_order': False") == std::string_view::npos)
    throw InputError("is in Fortran order: save it as numpy.ascontiguousarray(...)");
  const TensorType type = {dtype_of(field(header, "'descr':", '\'', '\'')), shape_of(header)};
  const size_t start = 8 + width + header.size();
  if (bytes.size() - start != static_cast<size_t>(type.bytes()))
    throw InputError("holds {} bytes, and {} has {}", bytes.size() - start, to_string(type),
                     type.bytes());
  Tensor tensor(type);
  if (type.bytes() > 0)
    std::memcpy(tensor.bytes().data(), content.data() + start, tensor.bytes().size());
  return tensor;
}

}  // namespace

std::map<std::string, Tensor> read_npz(const std::string& path) {
  const std::string content = read_file(path);
  return with_context(path, [&] {
    const Bytes file(content);
    std::map<std::string, Tensor> arrays;
    for (const Entry& entry : entries_of(file)) {
      std::string name = entry.name;
      if (name.ends_with(".npy")) name.resize(name.size() - 4);
      arrays[name] = with_context(fmt::format("array '{}'", name),
                                  [&] { return array_of(content_of(file, entry)); });
    }
    return arrays;
  });
}

}  // namespace reverie
