#include "core/exec/npz.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/files.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// What numpy.savez_compressed writes for ids = [[1, 2], [30521, -4]], x = float32 [0.5, -1, 2] and
/// a truth.
constexpr const char* kCompressed =
    "504b03042d000000080000002100b5671e8dffffffffffffffff070014006964732e6e707901001000a00000"
    "000000000054000000000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e9369a1aea3a09e965f"
    "54529498179f5f94920a12774bcc294e058a17672416a402f91a463a0a469a3a0ab50a64032e4606086082d2"
    "96e510facf7f080000504b03042d0000000800000021002733e813ffffffffffffffff05001400782e6e7079"
    "010010008c000000000000004f000000000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e9366"
    "a2aea3a09e965f54529498179f5f94920a12774bcc294e058a17672416a402f91ac63a9a3a0ab50a14002e06"
    "06067b068686fd40da0100504b03042d000000080000002100822df8d3ffffffffffffffff070014006f6e65"
    "2e6e707901001000810000000000000043000000000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5"
    "a05e9364a8aea3a09e965f54529498179f5f94920a12774bcc294e058a17672416a402f91a9a3a0ab50a1401"
    "2e4600504b01022d032d000000080000002100b5671e8d54000000a000000007000000000000000000000080"
    "01000000006964732e6e7079504b01022d032d0000000800000021002733e8134f0000008c00000005000000"
    "000000000000000080018d000000782e6e7079504b01022d032d000000080000002100822df8d34300000081"
    "0000000700000000000000000000008001130100006f6e652e6e7079504b050600000000030003009d000000"
    "8f0100000000";

std::string bytes_of(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return bytes;
}

/// An archive of one stored array, as numpy.savez writes it but without what a reader may leave
/// unread.
std::string stored(const std::string& header, const std::string& data) {
  const auto little = [](size_t value, size_t width) {
    std::string bytes;
    for (size_t i = 0; i < width; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
    return bytes;
  };
  const std::string content =
      std::string("\x93NUMPY\1\0", 8) + little(header.size(), 2) + header + data;
  const std::string name = "x.npy";
  const std::string local =
      "PK\3\4" + std::string(22, '\0') + little(name.size(), 2) + little(0, 2) + name;
  const std::string entry = "PK\1\2" + std::string(6, '\0') + little(0, 2) + std::string(8, '\0') +
                            little(content.size(), 4) + little(content.size(), 4) +
                            little(name.size(), 2) + std::string(12, '\0') + little(0, 4) + name;
  return local + content + entry + "PK\5\6" + std::string(4, '\0') + little(1, 2) + little(1, 2) +
         little(entry.size(), 4) + little(local.size() + content.size(), 4) + little(0, 2);
}

class Npz : public testing::Test {
 protected:
  std::map<std::string, Tensor> read(const std::string& bytes) {
    write_file(folder_ / "a.npz", bytes);
    return read_npz(folder_ / "a.npz");
  }
  std::string error_of(const std::string& bytes) {
    try {
      read(bytes);
    } catch (const InputError& error) {
      return error.what();
    }
    return "none";
  }
  TemporaryDirectory folder_;
};

TEST_F(Npz, CompressedArraysAreRead) {
  const auto arrays = read(bytes_of(kCompressed));
  ASSERT_EQ(arrays.size(), 3u);
  EXPECT_EQ(arrays.at("ids").shape(), (Shape{2, 2}));
  EXPECT_THAT(arrays.at("ids").to_integers(), ElementsAre(1, 2, 30521, -4));
  EXPECT_EQ(to_string(arrays.at("x").type()), "float32 3");
  EXPECT_THAT(arrays.at("x").to_doubles(), ElementsAre(0.5, -1, 2));
  EXPECT_EQ(to_string(arrays.at("one").type()), "bool scalar");
}

TEST_F(Npz, StoredArraysAreRead) {
  const std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }";
  EXPECT_THAT(read(stored(header, "abc")).at("x").to_integers(), ElementsAre('a', 'b', 'c'));
}

TEST_F(Npz, WhatIsWrongIsSaid) {
  const auto header = [](const char* descr, const char* order, const char* shape) {
    return fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}", descr, order,
                       shape);
  };
  EXPECT_THAT(error_of("nothing"), HasSubstr("a.npz: is no .npz archive"));
  EXPECT_THAT(error_of(stored(header("|u1", "True", "(3,)"), "abc")), HasSubstr("Fortran"));
  EXPECT_THAT(error_of(stored(header("<c8", "False", "(3,)"), "abc")), HasSubstr("'<c8'"));
  EXPECT_THAT(error_of(stored(header("|u1", "False", "(4,)"), "abc")),
              HasSubstr("array 'x': holds 3 bytes"));
  EXPECT_THAT(error_of(stored("{}", "abc")), HasSubstr("Fortran"));
  EXPECT_THAT(error_of(stored(header("|u1", "False", "(99999999999999999999,)"), "abc")),
              HasSubstr("cannot be read"));
}

/// Whatever is cut off or changed: an error, or other numbers, and no crash.
TEST_F(Npz, BrokenFilesAreRefused) {
  const std::string whole = bytes_of(kCompressed);
  for (size_t size = 0; size < whole.size(); size += 7)
    EXPECT_NE(error_of(whole.substr(0, size)), "none");
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(~changed[at]);
    error_of(changed);
  }
}

}  // namespace
}  // namespace reverie
