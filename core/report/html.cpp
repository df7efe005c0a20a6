#include "core/report/html.h"

#include <fmt/format.h>

#include "core/report/svg.h"

namespace reverie {
namespace {

constexpr const char* kStyle = R"css(
body{font:15px/1.5 system-ui,sans-serif;max-width:1080px;margin:2em auto;padding:0 1em;color:#1c1c1c}
h1{font-size:1.6em}h2{font-size:1.25em;margin-top:2em;border-bottom:1px solid #ccc}
table{border-collapse:collapse;font-size:.9em;font-variant-numeric:tabular-nums}
th,td{padding:.25em .8em;text-align:right;border-bottom:1px solid #e4e4e4}
th:first-child,td:first-child{text-align:left}tr.marked{background:#eef5fb;font-weight:600}
figure{margin:1em 0}figure.narrow{max-width:760px}
)css";

std::string row_of(const std::vector<std::string>& cells, const char* tag, bool marked) {
  std::string row = marked ? "<tr class='marked'>" : "<tr>";
  for (const std::string& cell : cells)
    row += fmt::format("<{0}>{1}</{0}>", tag, escape_html(cell));
  return row + "</tr>\n";
}

}  // namespace

std::string html_table(const HtmlTable& table) {
  std::string html = "<table>\n" + row_of(table.heads, "th", false);
  for (size_t i = 0; i < table.rows.size(); ++i)
    html += row_of(table.rows[i], "td", static_cast<int>(i) == table.marked);
  return html + "</table>\n";
}

std::string html_paragraph(const std::string& text) { return "<p>" + escape_html(text) + "</p>\n"; }

std::string html_page(const std::string& title, const std::string& body) {
  return fmt::format(
      "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'/>"
      "<meta name='viewport' content='width=device-width,initial-scale=1'/>"
      "<title>{0}</title><style>{1}{2}</style></head><body>\n<h1>{0}</h1>\n{3}</body></html>\n",
      escape_html(title), kStyle, kChartStyle, body);
}

}  // namespace reverie
