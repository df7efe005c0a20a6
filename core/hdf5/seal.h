#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace reverie::hdf5 {

/// What a program writes into sealed files: rollouts, cost tables.
struct FileKind {
  std::string_view magic;   ///< first line of the seal: "reverie rollouts"
  std::string_view name;    ///< of one file, for messages: "rollout shard"
  int schema = 1;           ///< version of the content; a file of another one is refused
  std::string_view renew;   ///< what to do about another version: "collect again"
  std::string_view repair;  ///< what to do about damage: "remove it and collect again"
};

/// A file of that kind: 512 bytes of seal, then `image`. The seal is text padded with zeros, in the
/// place of an HDF5 user block: the magic line, then lines "schema N", "bytes N" and "checksum H"
/// (16 hexadecimal digits, hash_bytes of core/base/hash.h), both of `image`.
std::string sealed(const FileKind& kind, std::string_view image);

struct Unsealed {
  std::string_view image;  ///< a part of what was unsealed
  uint64_t checksum = 0;
};

/// The image in the bytes of `file`, once the whole seal fits it: the HDF5 library goes wrong on
/// damaged files in ways of its own, and is only shown whole ones. InputError names file, fault and
/// remedy.
Unsealed unseal(const FileKind& kind, std::string_view bytes, const std::string& file);

/// Whether the file begins as one of that kind, damaged or not.
bool begins_as(const FileKind& kind, const std::string& file);

}  // namespace reverie::hdf5
