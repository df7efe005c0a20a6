#pragma once

#include <string>
#include <vector>

namespace reverie {

/// Cells are text: what they hold is escaped.
struct HtmlTable {
  std::vector<std::string> heads;
  std::vector<std::vector<std::string>> rows;
  int marked = -1;  ///< number of a row to stand out; -1: none
};

std::string html_table(const HtmlTable& table);
/// <p>, with the text escaped.
std::string html_paragraph(const std::string& text);

/// A page that needs no other file, with the style of charts (svg.h). `title` is escaped, `body`
/// is HTML.
std::string html_page(const std::string& title, const std::string& body);

}  // namespace reverie
