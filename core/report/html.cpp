#include "core/report/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>

namespace reverie {
namespace {

constexpr const char* kStyle = R"css(
body{font:15px/1.5 system-ui,sans-serif;max-width:1080px;margin:2em auto;padding:0 1em;color:#1c1c1c}
h1{font-size:1.6em}h2{font-size:1.25em;margin-top:2em;border-bottom:1px solid #ccc}
table{border-collapse:collapse;font-size:.9em;font-variant-numeric:tabular-nums}
th,td{padding:.25em .8em;text-align:right;border-bottom:1px solid #e4e4e4}
th:first-child,td:first-child,.left{text-align:left}tr.marked{background:#eef5fb;font-weight:600}
td{vertical-align:top}td li,td.left:last-child{overflow-wrap:anywhere}
figure{margin:1em 0}figure.narrow{max-width:760px}
ul{margin:.4em 0;padding-left:1.4em}td ul{margin:0;padding-left:1.1em}
details{margin:.4em 0}td details{margin:0}
summary{cursor:pointer;color:#0b5a8f}td summary{white-space:nowrap}
pre{background:#f6f6f6;padding:.7em 1em;white-space:pre-wrap;overflow-wrap:anywhere;font-size:.85em}
)css";

std::string row_of(const HtmlTable& table, const std::vector<std::string>& cells,
                   const std::string& tag, bool marked) {
  std::string row = marked ? "<tr class='marked'>" : "<tr>";
  for (size_t i = 0; i < cells.size(); ++i) {
    const bool is_html = tag == "td" && table.markup.contains(i);
    row += fmt::format("<{0}{1}>{2}</{0}>", tag,
                       i > 0 && table.left.contains(i) ? " class='left'" : "",
                       is_html ? cells[i] : escape_html(cells[i]));
  }
  return row + "</tr>\n";
}

/// In characters of UTF-8.
size_t width_of(const std::string& text) {
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::vector<size_t> widths_of(const HtmlTable& table) {
  std::vector<size_t> widths;
  const auto widen = [&](const std::vector<std::string>& cells) {
    widths.resize(std::max(widths.size(), cells.size()));
    for (size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], width_of(cells[i]));
  };
  widen(table.heads);
  for (const auto& row : table.rows) widen(row);
  return widths;
}

std::string line_of(const HtmlTable& table, const std::vector<std::string>& cells,
                    const std::vector<size_t>& widths) {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    const std::string blanks(widths[i] - width_of(cells[i]), ' ');
    line += (i > 0 ? "  " : "") + (table.left.contains(i) ? cells[i] + blanks : blanks + cells[i]);
  }
  return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

/// As part of an address.
std::string url_text(const std::string& text) {
  std::string url;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    url += std::isalnum(byte) != 0 || std::strchr(",.-_~", c) != nullptr
               ? std::string(1, c)
               : fmt::format("%{:02X}", byte);
  }
  return url;
}

}  // namespace

std::string html_table(const HtmlTable& table) {
  std::string html = "<table>\n" + row_of(table, table.heads, "th", false);
  for (size_t i = 0; i < table.rows.size(); ++i)
    html += row_of(table, table.rows[i], "td", static_cast<int>(i) == table.marked);
  return html + "</table>\n";
}

std::string text_table(const HtmlTable& table) {
  const std::vector<size_t> widths = widths_of(table);
  std::string text = line_of(table, table.heads, widths);
  for (const auto& row : table.rows) text += line_of(table, row, widths);
  return text;
}

std::string html_paragraph(const std::string& text) { return "<p>" + escape_html(text) + "</p>\n"; }

std::string html_list(const std::vector<std::string>& items) {
  std::string html = "<ul>\n";
  for (const std::string& item : items) html += "<li>" + escape_html(item) + "</li>\n";
  return html + "</ul>\n";
}

std::string html_details(const std::string& summary, const std::string& body) {
  return "<details><summary>" + escape_html(summary) + "</summary>\n" + body + "</details>\n";
}

std::string html_figure(const Chart& chart, const std::string& css) {
  if (chart.svg.empty()) return "";
  const std::string numbers = chart.csv.empty()
                                  ? ""
                                  : fmt::format(
                                        "<a class='numbers' download='numbers.csv' "
                                        "href='data:text/csv;charset=utf-8,{}'>CSV</a>",
                                        url_text(chart.csv));
  return fmt::format("<figure{}>{}{}</figure>\n", css.empty() ? "" : " class='" + css + "'",
                     chart.svg, numbers);
}

std::string html_page(const std::string& title, const std::string& body) {
  return fmt::format(
      "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'/>"
      "<meta name='viewport' content='width=device-width,initial-scale=1'/>"
      "<title>{0}</title><style>{1}{2}</style></head><body>\n<h1>{0}</h1>\n{3}</body></html>\n",
      escape_html(title), kStyle, kChartStyle, body);
}

}  // namespace reverie
