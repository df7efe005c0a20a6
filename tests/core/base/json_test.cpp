#include "core/base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace reverie {
namespace {

using ::testing::HasSubstr;

std::string reason(auto&& body) try {
  body();
  return "nothing was refused";
} catch (const InputError& error) {
  return error.what();
}

std::string refusal(const std::string& text) {
  return reason([&] { Json::parse(text); });
}

TEST(Json, WritesWhatItIsGiven) {
  const std::map<std::string, double> scores = {{"b", 0.5}, {"a", 2}};
  const Json json = {{"z", 1},
                     {"a", {{"text", "x"}, {"none", nullptr}, {"yes", true}}},
                     {"numbers", std::vector<int>{1, 2}},
                     {"scores", scores},
                     {"list", Json::Array{{{"k", 1}}, Json::Array(), Json::Object()}}};
  EXPECT_EQ(json.dump(), R"({"z":1,"a":{"text":"x","none":null,"yes":true},"numbers":[1,2],)"
                         R"("scores":{"a":2.0,"b":0.5},"list":[{"k":1},[],{}]})");
  EXPECT_EQ(Json::parse(json.dump()), json);
}

TEST(Json, IndentsElementsAndMembers) {
  const Json json = {{"a", std::vector<int>{1, 2}}, {"b", Json::Object()}, {"c", {{"d", 3}}}};
  EXPECT_EQ(json.dump(2),
            "{\n  \"a\": [\n    1,\n    2\n  ],\n  \"b\": {},\n  \"c\": {\n    \"d\": 3\n  }\n}");
  EXPECT_EQ(Json::parse(json.dump(2)), json);
}

TEST(Json, NumbersKeepTheirValueAndKind) {
  for (const char* text : {"0", "-1", "9223372036854775807", "-9223372036854775808",
                           "18446744073709551615", "0.1", "-2.0", "1e+300", "5e-324"})
    EXPECT_EQ(Json::parse(text).dump(), text);
  EXPECT_EQ(Json(1.0 / 3).dump(), "0.3333333333333333");
  EXPECT_EQ(Json(~uint64_t{0}).get<uint64_t>(), ~uint64_t{0});
  EXPECT_EQ(Json::parse("-0").get<double>(), 0);
  EXPECT_EQ(Json::parse("1E2").get<double>(), 100);
  EXPECT_TRUE(Json::parse("7").is_integer());
  EXPECT_FALSE(Json::parse("7.0").is_integer());
  EXPECT_TRUE(Json(NAN).is_null());
  EXPECT_TRUE(Json(-INFINITY).is_null());
}

TEST(Json, TextIsEscapedAndReadBack) {
  const std::string text("quote\" slash\\ /\b\f\n\r\t\x01\x1f \xc3\xa9 \xf0\x9f\x98\x80 \0 end",
                         37);
  EXPECT_EQ(Json::parse(Json(text).dump()).get<std::string>(), text);
  EXPECT_EQ(Json("a\"\n\x01").dump(), R"("a\"\n\u0001")");
  EXPECT_EQ(Json::parse(R"("\u0041\u00e9\u07ff\u0800\u20AC\ud83d\ude00\/")").get<std::string>(),
            "A\xc3\xa9\xdf\xbf\xe0\xa0\x80\xe2\x82\xac\xf0\x9f\x98\x80/");
}

TEST(Json, TextThatIsNoUtf8IsReplacedAndRefused) {
  EXPECT_EQ(Json("a\xff z").dump(), "\"a\xef\xbf\xbd z\"");
  EXPECT_THAT(refusal("\"a\xff z\""), HasSubstr("ill-formed UTF-8"));
}

TEST(Json, OfMembersOfOneNameTheLastCounts) {
  EXPECT_EQ(Json::parse(R"( {"a" : 1, "b":2 ,"a":3} )").dump(), R"({"a":3,"b":2})");
}

TEST(Json, RefusesWhatIsNone) {
  for (const char* text : {"",
                           " ",
                           "{",
                           "[",
                           "[1",
                           "[1,]",
                           "[,1]",
                           "[1 2]",
                           "{\"a\"}",
                           "{\"a\":}",
                           "{\"a\":1,}",
                           "{a:1}",
                           "{'a':1}",
                           "{1:2}",
                           "01",
                           "+1",
                           ".5",
                           "1.",
                           "1e",
                           "1e+",
                           "-",
                           "--1",
                           "NaN",
                           "Infinity",
                           "0x1",
                           "1e999",
                           "tru",
                           "nul",
                           "True",
                           "\"",
                           "\"\\x\"",
                           "\"\\u12g4\"",
                           "\"\\u123",
                           "\"\\ud800\"",
                           "\"\\ud800\\u0041\"",
                           "\"\\udc00\"",
                           "\"\\udc00\\udc00\"",
                           "\"a\nb\"",
                           "1 2",
                           "{} x",
                           "[1]]",
                           "// c\n1"})
    EXPECT_THAT(refusal(text), HasSubstr("is no JSON from byte")) << text;
  EXPECT_EQ(refusal("[1, }"),
            "is no JSON from byte 4 on: syntax error while parsing value - unexpected '}'; "
            "expected '[', '{', or a literal");
  EXPECT_EQ(
      refusal("{\"a\": 1"),
      "is no JSON from byte 7 on: syntax error while parsing object - unexpected end of input; "
      "expected '}'");
  EXPECT_EQ(refusal("[1e999]"), "is no JSON from byte 5 on: number overflow parsing '1e999'");
  EXPECT_THAT(refusal("\"" + std::string(1000, 'a')), HasSubstr("missing closing quote"));
  EXPECT_LT(refusal("\"" + std::string(1000, 'a')).size(), 200u);
}

TEST(Json, RefusesTooManyLevels) {
  const auto nested = [](size_t levels) {
    return std::string(levels, '[') + std::string(levels, ']');
  };
  EXPECT_EQ(Json::parse(nested(100)).dump(), nested(100));
  EXPECT_EQ(Json::parse("[" + nested(99) + ",1]").dump(), "[" + nested(99) + ",1]");
  EXPECT_THAT(refusal(nested(101)), HasSubstr("too many levels"));
  EXPECT_THAT(refusal(nested(1'000'000)), HasSubstr("too many levels"));
}

TEST(Json, GivesOnlyWhatItHolds) {
  const Json json = {{"text", "x"}, {"whole", -3}, {"list", std::vector<int>{1, 2}}, {"half", 0.5}};
  EXPECT_EQ(json.at("whole").get<double>(), -3);
  EXPECT_EQ(json.at("list").get<std::vector<int64_t>>(), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ((Json{{"a", 1}}.get<std::map<std::string, int>>()),
            (std::map<std::string, int>{{"a", 1}}));
  EXPECT_EQ(json.find("other"), nullptr);
  EXPECT_EQ(reason([&] { json.at("other"); }), "there is no 'other'");
  EXPECT_EQ(reason([&] { json.at("text").get<double>(); }), "\"x\" must be a number");
  EXPECT_EQ(reason([&] { json.at("half").get<int>(); }),
            "0.5 must be an integer from -2147483648 to 2147483647");
  EXPECT_THAT(reason([&] { json.at("whole").get<uint32_t>(); }),
              HasSubstr("-3 must be an integer from 0"));
  EXPECT_EQ(reason([&] { json.at("list").find("a"); }), "[1,2] must be an object");
  EXPECT_EQ(reason([&] { json.array(); }),
            "{\"text\":\"x\",\"whole\":-3,\"list\":[1,2],\"hal must be an array");
}

TEST(Json, MembersAreAddedAndReplaced) {
  Json json;
  json["b"] = 1;
  json["a"] = "x";
  json["b"] = 2;
  EXPECT_EQ(json.dump(), R"({"b":2,"a":"x"})");
  EXPECT_EQ(reason([&] { json["b"]["c"] = 1; }), "2 must be an object");
}

}  // namespace
}  // namespace reverie
