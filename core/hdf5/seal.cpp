#include "core/hdf5/seal.h"

#include <cstdio>
#include <fstream>

#include "core/base/error.h"
#include "core/base/hash.h"

namespace reverie::hdf5 {
namespace {

constexpr size_t kSealBytes = 512;  // the least user block that HDF5 has

std::string seal_of(const FileKind& kind, size_t bytes, uint64_t checksum) {
  std::string seal = fmt::format("{}\nschema {}\nbytes {}\nchecksum {:016x}\n", kind.magic,
                                 kind.schema, bytes, checksum);
  seal.resize(kSealBytes, '\0');
  return seal;
}

/// The first cost tables say "version" where "schema" stands now.
bool read_numbers(const std::string& seal, size_t magic, int* schema, size_t* bytes) {
  return std::sscanf(seal.c_str() + magic, " %*[a-z] %d bytes %zu", schema, bytes) == 2;
}

}  // namespace

std::string sealed(const FileKind& kind, std::string_view image) {
  return seal_of(kind, image.size(), hash_bytes(image.data(), image.size())).append(image);
}

Unsealed unseal(const FileKind& kind, std::string_view bytes, const std::string& file) {
  const std::string seal(bytes.substr(0, kSealBytes));
  int schema = 0;
  size_t size = 0;
  if (!seal.starts_with(kind.magic) || !read_numbers(seal, kind.magic.size(), &schema, &size))
    throw InputError("{}: is no {}, or its first bytes are damaged", file, kind.name);
  if (schema != kind.schema)
    throw InputError("{}: has schema version {}, this program reads version {}; {}", file, schema,
                     kind.schema, kind.renew);
  if (bytes.size() != kSealBytes + size)
    throw InputError("{}: has {} bytes where its seal says {}: it is truncated or damaged; {}",
                     file, bytes.size(), kSealBytes + size, kind.repair);
  const std::string_view image = bytes.substr(kSealBytes);
  const uint64_t checksum = hash_bytes(image.data(), image.size());
  if (seal != seal_of(kind, size, checksum))
    throw InputError("{}: does not match its checksum: it is damaged; {}", file, kind.repair);
  return {image, checksum};
}

bool begins_as(const FileKind& kind, const std::string& file) {
  std::ifstream stream(file);
  std::string line;
  return std::getline(stream, line) && line == kind.magic;
}

}  // namespace reverie::hdf5
