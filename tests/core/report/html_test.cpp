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

TEST(HtmlTest, APageHasItsTitleTwiceAndItsBodyAsItIs) {
  const std::string page = html_page("a < b", html_paragraph("c & d") + "<hr/>");
  EXPECT_EQ(testing::markup_fault(page), "");
  EXPECT_THAT(page, HasSubstr("<title>a &lt; b</title>"));
  EXPECT_THAT(page, HasSubstr("<h1>a &lt; b</h1>\n<p>c &amp; d</p>\n<hr/></body>"));
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
