#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace reverie::testing {

/// Why XML is not well-formed; empty: it is. Checks that tags nest, attributes are quoted, entities
/// are known and no control character stands anywhere. A document type before it is skipped.
inline std::string markup_fault(std::string_view text) {
  std::vector<std::string> open;
  const auto is_entity = [&](size_t at) {
    for (const char* known : {"&amp;", "&lt;", "&gt;", "&quot;"})
      if (text.substr(at).starts_with(known)) return true;
    return false;
  };
  if (text.starts_with("<!doctype")) text.remove_prefix(text.find('>') + 1);
  for (size_t at = 0; at < text.size(); ++at) {
    const std::string where = " in " + std::string(text.substr(at, 60));
    if (static_cast<unsigned char>(text[at]) < ' ' && text[at] != '\n') return "control" + where;
    if (text[at] == '>') return "stray >" + where;
    if (text[at] == '&' && !is_entity(at)) return "entity" + where;
    if (text[at] != '<') continue;
    char quote = 0;
    size_t end = at + 1;
    for (; end < text.size() && (quote != 0 || text[end] != '>'); ++end) {
      if (text[end] == '<') return "< within a tag" + where;
      if (text[end] == '&' && !is_entity(end)) return "entity" + where;
      if (quote != 0 ? text[end] == quote : text[end] == '"' || text[end] == '\'')
        quote = quote != 0 ? char{0} : text[end];
    }
    if (end == text.size()) return "tag without end" + where;
    const std::string_view tag = text.substr(at + 1, end - at - 1);
    const std::string name(tag.substr(0, tag.find_first_of(" /", 1)));
    if (tag.starts_with('/')) {
      if (open.empty() || "/" + open.back() != tag) return "closes another tag" + where;
      open.pop_back();
    } else if (!tag.ends_with('/')) {
      open.push_back(name);
    }
    at = end;
  }
  return open.empty() ? "" : "not closed: " + open.back();
}

}  // namespace reverie::testing
