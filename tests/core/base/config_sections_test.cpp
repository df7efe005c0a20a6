#include "core/base/config_sections.h"

#include <gmock/gmock.h>

#include "core/base/error.h"

namespace reverie {
namespace {

using ::testing::HasSubstr;

struct Beam {
  int64_t width = 8;
  bool finish = true;

  template <class V>
  void fields(V& v) {
    v.field("width", width, "States kept", at_least(1));
    v.field("finish", finish, "Descend at the end");
  }
};

struct Walks {
  std::vector<int64_t> lengths = {10, 20};

  template <class V>
  void fields(V& v) {
    v.field("lengths", lengths, "Steps");
  }
};

ConfigSections sections() {
  ConfigSections made;
  made.add<Beam>("beam", "Beam search");
  made.add<Walks>("walks", "Random walks");
  return made;
}

TEST(ConfigSections, AreSectionsOfAConfiguration) {
  ConfigSections config = sections();
  ConfigFields fields(config);
  fields.load_text("beam:\n  width: 3\nwalks:\n  lengths: [1, 2]\n", "test.yaml");
  EXPECT_EQ(config.of<Beam>("beam").width, 3);
  EXPECT_THAT(config.of<Walks>("walks").lengths, ::testing::ElementsAre(1, 2));
  EXPECT_THAT(fields.help(), HasSubstr("beam.finish"));
  EXPECT_THROW(fields.set("beam.width=0"), InputError);
  EXPECT_THROW(fields.set("taso.width=1"), InputError);
  ConfigSections again = sections();
  ConfigFields(again).load_text(fields.dump(), "dump.yaml");
  EXPECT_EQ(ConfigFields(again).dump(), fields.dump());
}

TEST(ConfigSections, CopiesAreIndependent) {
  ConfigSections one = sections();
  one.of<Beam>("beam").width = 3;
  ConfigSections copy = one, assigned;
  assigned = one;
  one.of<Beam>("beam").width = 4;
  EXPECT_EQ(copy.of<Beam>("beam").width, 3);
  EXPECT_EQ(assigned.of<Beam>("beam").width, 3);
  copy.of<Walks>("walks").lengths.clear();
  EXPECT_EQ(one.of<Walks>("walks").lengths.size(), 2u);
  copy = std::move(one);
  EXPECT_EQ(copy.of<Beam>("beam").width, 4);
  EXPECT_EQ(std::as_const(copy).of<Walks>("walks").lengths.size(), 2u);
}

TEST(ConfigSections, ASectionIsThereOnce) {
  ConfigSections config = sections();
  config.of<Beam>("beam").width = 3;
  config.add<Beam>("beam", "once more");
  EXPECT_EQ(config.of<Beam>("beam").width, 3);
}

TEST(ConfigSections, TellTheFirstFieldThatWasChanged) {
  ConfigSections config = sections();
  EXPECT_EQ(config.changed("beam"), "");
  config.of<Beam>("beam").finish = false;
  EXPECT_EQ(config.changed("beam"), "finish");
  EXPECT_EQ(config.changed("walks"), "");
  config.of<Beam>("beam").width = 1;
  EXPECT_EQ(config.changed("beam"), "width");
  config.of<Walks>("walks").lengths = {10};
  EXPECT_EQ(config.changed("walks"), "lengths");
}

}  // namespace
}  // namespace reverie
