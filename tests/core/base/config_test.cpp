#include "core/base/config.h"

#include <gmock/gmock.h>

#include "core/base/error.h"

namespace reverie {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

enum class Trainer { kPpo, kEvolution };
EnumNames<Trainer> enum_names(Trainer) {
  return {{Trainer::kPpo, "ppo"}, {Trainer::kEvolution, "cmaes"}};
}

struct InnerConfig {
  double clip = 0.2;
  std::vector<int64_t> widths = {64, 64};
  template <class V>
  void fields(V& v) {
    v.field("clip", clip, "Clip", above(0));
    v.field("widths", widths, "Widths", at_least(1));
  }
};

struct OuterConfig {
  uint64_t seed = 1;
  int latent = 32;
  bool fast = false;
  float rate = 0.1f;
  std::string name = "a: b # c";
  std::vector<std::string> rules;
  Trainer trainer = Trainer::kPpo;
  InnerConfig ppo;
  template <class V>
  void fields(V& v) {
    v.field("seed", seed, "Seed");
    v.field("latent", latent, "Width", between(1, 512));
    v.field("fast", fast, "Fast");
    v.section("ppo", ppo, "PPO");
    v.field("rate", rate, "Rate");
    v.field("name", name, "Name");
    v.field("rules", rules, "Rules");
    v.field("trainer", trainer, "Trainer");
  }
};

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

std::string load_error(const std::string& yaml) {
  return error_of([&] {
    OuterConfig c;
    ConfigFields(c).load_text(yaml, "run.yaml");
  });
}

std::string set_error(const std::string& assignment) {
  return error_of([&] {
    OuterConfig c;
    ConfigFields(c).set(assignment);
  });
}

TEST(ConfigTest, ReadsYamlOfEveryType) {
  OuterConfig config;
  ConfigFields(config).load_text(
      "seed: 18446744073709551615\nlatent: 64\nfast: true\nrate: 1e-3\nname: x\n"
      "rules: [one, 'two, three']\ntrainer: cmaes\nppo:\n  clip: 0.5\n  widths: [1, 2, 3]\n",
      "f");
  EXPECT_EQ(config.seed, ~uint64_t{0});
  EXPECT_EQ(config.latent, 64);
  EXPECT_TRUE(config.fast);
  EXPECT_FLOAT_EQ(config.rate, 1e-3f);
  EXPECT_EQ(config.name, "x");
  EXPECT_THAT(config.rules, ElementsAre("one", "two, three"));
  EXPECT_EQ(config.trainer, Trainer::kEvolution);
  EXPECT_EQ(config.ppo.clip, 0.5);
  EXPECT_THAT(config.ppo.widths, ElementsAre(1, 2, 3));
}

TEST(ConfigTest, KeepsWhatIsNotNamed) {
  OuterConfig config;
  config.latent = 7;
  ConfigFields(config).load_text("ppo:\n", "f");
  ConfigFields(config).load_text("", "f");
  ConfigFields(config).load_text("fast: on", "f");
  EXPECT_EQ(config.latent, 7);
  EXPECT_TRUE(config.fast);
}

TEST(ConfigTest, DumpReadsBackTheSame) {
  OuterConfig config;
  config.rules = {"a, b", "", "true", "c: d", "\"quoted\"\n"};
  config.rate = 0.1f;
  config.ppo.clip = 1.0 / 3;
  config.ppo.widths = {};
  const std::string dumped = dump_config(config);
  OuterConfig again;
  again.ppo.widths = {5};
  ConfigFields(again).load_text(dumped, "dump");
  EXPECT_EQ(dump_config(again), dumped);
  EXPECT_EQ(again.rules, config.rules);
  EXPECT_EQ(again.rate, config.rate);
  EXPECT_EQ(again.ppo.clip, config.ppo.clip);
  EXPECT_EQ(again.name, config.name);
  EXPECT_TRUE(again.ppo.widths.empty());
}

TEST(ConfigTest, OverridesByDottedKey) {
  OuterConfig config;
  ConfigFields fields(config);
  fields.set("ppo.clip=0.25");
  fields.set("ppo.widths=[8, 16]");
  fields.set("rules=a,b");
  fields.set("name=x=y");
  EXPECT_EQ(config.ppo.clip, 0.25);
  EXPECT_THAT(config.ppo.widths, ElementsAre(8, 16));
  EXPECT_THAT(config.rules, ElementsAre("a", "b"));
  EXPECT_EQ(config.name, "x=y");
  fields.set("rules=");
  EXPECT_TRUE(config.rules.empty());
}

TEST(ConfigTest, UnknownKeyNamesPlaceAndNearest) {
  EXPECT_THAT(load_error("seed: 1\nppo:\n  clib: 2\n"),
              testing::StrEq("run.yaml:3: unknown key 'ppo.clib'; did you mean 'ppo.clip'?"));
  EXPECT_THAT(set_error("latemt=3"), HasSubstr("did you mean 'latent'?"));
  EXPECT_THAT(set_error("zzzzzzzzzzz=3"), HasSubstr("known are seed, latent"));
  EXPECT_THAT(set_error("zzzzzzzzzzz.clip=3"), testing::Not(HasSubstr("ppo.clip")));
  EXPECT_EQ(
      load_error("ppo:\n  zzzzzzzzzzz: 2\n"),
      "run.yaml:2: unknown key 'ppo.zzzzzzzzzzz'; known are ppo.clip, ppo.widths; leave it out "
      "if an older version had it");
}

TEST(ConfigTest, WrongValuesSayWhatIsRight) {
  EXPECT_EQ(load_error("fast: 1\nlatent: x\n"), "run.yaml:1: fast: '1' is neither true nor false");
  EXPECT_EQ(load_error("seed: 1\nlatent: 3.5\n"), "run.yaml:2: latent: '3.5' is not an integer");
  EXPECT_THAT(set_error("latent=0"), HasSubstr("out of range; give a number of at least 1"));
  EXPECT_THAT(set_error("latent=99999999999"), HasSubstr("latent: 99999999999 is outside"));
  EXPECT_THAT(set_error("seed=-1"), HasSubstr("not an integer of at least 0"));
  EXPECT_THAT(set_error("ppo.clip=0"), HasSubstr("above 0"));
  EXPECT_THAT(set_error("rate=nan"), HasSubstr("not a finite number"));
  EXPECT_THAT(set_error("rate=inf"), HasSubstr("not a finite number"));
  EXPECT_THAT(set_error("ppo.widths=1,0"), HasSubstr("at least 1"));
  EXPECT_THAT(set_error("trainer=sgd"), HasSubstr("'sgd' is not one of ppo, cmaes"));
  EXPECT_THAT(set_error("ppo=3"), HasSubstr("is a section"));
  EXPECT_THAT(set_error("latent"), HasSubstr("give key=value"));
  EXPECT_THAT(load_error("latent: [1]"), HasSubstr("one value is needed, not a list"));
  EXPECT_THAT(load_error("latent: {a: 1}"), HasSubstr("a value or a list"));
  EXPECT_THAT(load_error("latent: 1\nlatent: 2"),
              HasSubstr("run.yaml:2: key 'latent' is given twice"));
  EXPECT_THAT(load_error("ppo: 3"), HasSubstr("run.yaml:1: a section"));
  EXPECT_THAT(load_error("a: [1"), HasSubstr("not valid YAML"));
  EXPECT_THAT(load_error("just text"), HasSubstr("a section"));
}

TEST(ConfigTest, RejectedValueLeavesListUnchanged) {
  OuterConfig config;
  EXPECT_THROW(ConfigFields(config).set("ppo.widths=1,x"), InputError);
  EXPECT_THAT(config.ppo.widths, ElementsAre(64, 64));
}

TEST(ConfigTest, HelpNamesEveryField) {
  OuterConfig config;
  const ConfigFields fields(config);
  const std::string help = fields.help();
  for (const ConfigField& field : fields.all()) EXPECT_THAT(help, HasSubstr(field.key));
  EXPECT_THAT(help, HasSubstr("ppo.widths = [64, 64]  (list of integer of at least 1)"));
  EXPECT_THAT(help, HasSubstr("one of ppo, cmaes"));
}

}  // namespace
}  // namespace reverie
