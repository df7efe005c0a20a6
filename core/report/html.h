#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/report/svg.h"

namespace reverie {

/// Cells are text: what they hold is escaped.
struct HtmlTable {
  std::vector<std::string> heads;
  std::vector<std::vector<std::string>> rows = {};
  int marked = -1;               ///< number of a row to stand out; -1: none
  std::set<size_t> left = {0};   ///< columns that are aligned to the left
  std::set<size_t> markup = {};  ///< columns whose cells are HTML
};

std::string html_table(const HtmlTable& table);
/// The same for a terminal, its columns two blanks apart.
std::string text_table(const HtmlTable& table);
/// <p>, with the text escaped.
std::string html_paragraph(const std::string& text);
/// A list of texts, which are escaped.
std::string html_list(const std::vector<std::string>& items);
/// What opens at a click on `summary`, which is escaped; `body` is HTML.
std::string html_details(const std::string& summary, const std::string& body);

/// A chart with a link to its numbers, which the page holds, below it; `css`: its class. Empty
/// where there is nothing to draw.
std::string html_figure(const Chart& chart, const std::string& css = "");

/// A page that needs no other file, with the style of charts (svg.h). `title` is escaped, `body`
/// is HTML.
std::string html_page(const std::string& title, const std::string& body);

}  // namespace reverie
