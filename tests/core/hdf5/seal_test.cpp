#include "core/hdf5/seal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"

namespace reverie::hdf5 {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr FileKind kKind = {.magic = "reverie things",
                            .name = "thing",
                            .schema = 3,
                            .renew = "make it anew",
                            .repair = "throw it away"};

std::string reason_of(std::string_view bytes) {
  try {
    unseal(kKind, bytes, "FILE");
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Seal, GivesBackTheImage) {
  for (const std::string image : {"", "an image"}) {
    const std::string file = sealed(kKind, image);
    EXPECT_EQ(file.size(), 512 + image.size());
    EXPECT_EQ(unseal(kKind, file, "FILE").image, image);
  }
}

TEST(Seal, EveryFlippedBitIsNoticed) {
  const std::string file = sealed(kKind, "an image");
  for (size_t at = 0; at < file.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = file;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      EXPECT_THAT(reason_of(damaged), HasSubstr("FILE: ")) << at;
    }
}

TEST(Seal, EveryTruncationIsNoticed) {
  const std::string file = sealed(kKind, "an image");
  for (size_t size = 0; size < file.size(); ++size)
    EXPECT_THAT(reason_of(file.substr(0, size)), HasSubstr("FILE: ")) << size;
  EXPECT_THAT(reason_of(file + "x"), HasSubstr("FILE: "));
}

TEST(Seal, SaysWhatIsWrongAndWhatToDo) {
  const std::string file = sealed(kKind, "an image");
  EXPECT_THAT(reason_of("something else"), HasSubstr("is no thing"));
  EXPECT_THAT(
      reason_of(file.substr(0, 515)),
      AllOf(HasSubstr("has 515 bytes where its seal says 520"), HasSubstr("throw it away")));
  FileKind newer = kKind;
  newer.schema = 4;
  EXPECT_THAT(reason_of(sealed(newer, "an image")),
              HasSubstr("FILE: has schema version 4, this program reads version 3; make it anew"));
}

}  // namespace
}  // namespace reverie::hdf5
