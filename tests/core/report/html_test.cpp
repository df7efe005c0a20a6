#include "core/report/html.h"

#include <gmock/gmock.h>

#include "tests/support/markup.h"

namespace reverie {
namespace {

using ::testing::HasSubstr;

TEST(HtmlTest, ATableEscapesItsCellsAndMarksARow) {
  const std::string html = html_table({{"<h>", "b"}, {{"1", "2"}, {"<c>", "&"}}, 1});
  EXPECT_EQ(html,
            "<table>\n<tr><th>&lt;h&gt;</th><th>b</th></tr>\n<tr><td>1</td><td>2</td></tr>\n"
            "<tr class='marked'><td>&lt;c&gt;</td><td>&amp;</td></tr>\n</table>\n");
}

TEST(HtmlTest, ATableHasColumnsOfItsKinds) {
  HtmlTable table{{"a", "b", "c"}, {{"1", "<2>", "<br/>"}}};
  table.left = {0, 1};
  table.markup = {2};
  EXPECT_EQ(html_table(table),
            "<table>\n<tr><th>a</th><th class='left'>b</th><th>c</th></tr>\n"
            "<tr><td>1</td><td class='left'>&lt;2&gt;</td><td><br/></td></tr>\n</table>\n");
}

TEST(HtmlTest, ATableForATerminalHasItsColumnsBelowEachOther) {
  HtmlTable table{{"", "ms", "who"}, {{"one", "1.5", "a"}, {"\u00fcber", "10.25", ""}}};
  table.left = {0, 2};
  EXPECT_EQ(text_table(table),
            "         ms  who\n"
            "one     1.5  a\n"
            "\u00fcber  10.25\n");
}

TEST(HtmlTest, WhatOpensAndListsEscapeTheirTexts) {
  EXPECT_EQ(html_details("<3>", html_list({"a & b"})),
            "<details><summary>&lt;3&gt;</summary>\n<ul>\n<li>a &amp; b</li>\n</ul>\n</details>\n");
}

TEST(HtmlTest, APageHasItsTitleTwiceAndItsBodyAsItIs) {
  const std::string page = html_page("a < b", html_paragraph("c & d") + "<hr/>");
  EXPECT_EQ(testing::markup_fault(page), "");
  EXPECT_THAT(page, HasSubstr("<title>a &lt; b</title>"));
  EXPECT_THAT(page, HasSubstr("<h1>a &lt; b</h1>\n<p>c &amp; d</p>\n<hr/></body>"));
}

TEST(HtmlTest, AFigureHoldsItsNumbers) {
  EXPECT_EQ(html_figure({"<svg></svg>", "a b,c\r\nü,\"1\"\r\n"}, "narrow"),
            "<figure class='narrow'><svg></svg><a class='numbers' download='numbers.csv' "
            "href='data:text/csv;charset=utf-8,a%20b,c%0D%0A%C3%BC,%221%22%0D%0A'>CSV</a>"
            "</figure>\n");
  EXPECT_EQ(html_figure({"<svg></svg>", ""}), "<figure><svg></svg></figure>\n");
  EXPECT_EQ(html_figure({}), "");
}

TEST(MarkupTest, FaultsAreFound) {
  for (const char* good : {"", "<a/>x&lt;", "<!doctype html>\n<a><b c=\"'\">d</b></a>"})
    EXPECT_EQ(testing::markup_fault(good), "") << good;
  for (const char* bad : {"<a>", "</a>", "<a><b></a></b>", "<a b='>", "a > b", "a & b",
                          "<a b='<'/>", "<a b='&'/>", "a\x01"})
    EXPECT_NE(testing::markup_fault(bad), "") << bad;
}

}  // namespace
}  // namespace reverie
