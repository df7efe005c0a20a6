#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace reverie {

struct Token {
  enum class Kind { kName, kInteger, kNumber, kString, kSymbol, kNewline, kEnd };
  Kind kind = Kind::kEnd;
  std::string text;  ///< without the quotes of a string
  int line = 1;
  int column = 1;
  size_t begin = 0;  ///< offset in the text

  bool is(std::string_view symbol) const { return kind == Kind::kSymbol && text == symbol; }
  bool is_word(std::string_view word) const { return kind == Kind::kName && text == word; }
};

/// The tokens of a rule file, an end token last. Blanks and comments (# to the end of the line) are
/// dropped; so are newlines inside brackets and after an operator or a comma, where a statement
/// goes on. InputError "NAME:LINE:COLUMN: ..." for a character that no token begins with.
std::vector<Token> tokenize(std::string_view text, const std::string& name);

}  // namespace reverie
