#include "core/rules/lexer.h"

#include <algorithm>
#include <cctype>

#include "core/base/error.h"

namespace reverie {
namespace {

constexpr std::string_view kSymbols[] = {"...", "==", "!=", "<=", ">=", "&&", "||", "??", "++",
                                         "(",   ")",  "[",  "]",  ",",  ";",  ":",  "=",  "<",
                                         ">",   "+",  "-",  "*",  "/",  "%",  "!",  "?",  "."};

class Lexer {
 public:
  Lexer(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  std::vector<Token> run() {
    while (at_ < text_.size()) step();
    push(Token::Kind::kNewline, 0);
    push(Token::Kind::kEnd, 0);
    return std::move(tokens_);
  }

 private:
  char here(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  static bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
  static bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  }

  void advance() {
    if (text_[at_] == '\n') {
      ++line_;
      line_begin_ = at_ + 1;
    }
    ++at_;
  }

  Token make(Token::Kind kind, size_t length) const {
    return {kind, std::string(text_.substr(at_, length)), line_,
            static_cast<int>(at_ - line_begin_) + 1, at_};
  }

  void push(Token::Kind kind, size_t length) {
    tokens_.push_back(make(kind, length));
    for (size_t i = 0; i < length; ++i) advance();
  }

  /// Whether a statement goes on in the next line.
  bool goes_on() const {
    if (depth_ > 0 || tokens_.empty() || tokens_.back().kind == Token::Kind::kNewline) return true;
    const Token& last = tokens_.back();
    return last.kind == Token::Kind::kSymbol && last.text != ")" && last.text != "]" &&
           last.text != "..." && last.text != "?";
  }

  void step() {
    const char c = here();
    if (c == '\n') {
      if (!goes_on()) tokens_.push_back(make(Token::Kind::kNewline, 0));
      advance();
    } else if (std::isspace(static_cast<unsigned char>(c))) {
      advance();
    } else if (c == '#') {
      while (at_ < text_.size() && here() != '\n') advance();
    } else if (is_digit(c)) {
      number();
    } else if (is_word(c)) {
      size_t length = 1;
      while (is_word(here(length))) ++length;
      push(Token::Kind::kName, length);
    } else if (c == '"') {
      string();
    } else {
      symbol();
    }
  }

  void number() {
    size_t length = 1;
    bool integral = true;
    while (is_digit(here(length))) ++length;
    if (here(length) == '.' && is_digit(here(length + 1))) {
      integral = false;
      ++length;
      while (is_digit(here(length))) ++length;
    }
    if (here(length) == 'e' || here(length) == 'E') {
      size_t exponent = length + 1;
      if (here(exponent) == '-' || here(exponent) == '+') ++exponent;
      if (is_digit(here(exponent))) {
        integral = false;
        length = exponent;
        while (is_digit(here(length))) ++length;
      }
    }
    push(integral ? Token::Kind::kInteger : Token::Kind::kNumber, length);
  }

  void string() {
    size_t length = 1;
    while (here(length) != '"') {
      if (here(length) == '\0' || here(length) == '\n')
        fail("a string without end: close it with \" on the same line");
      ++length;
    }
    Token token = make(Token::Kind::kString, length + 1);
    token.text = token.text.substr(1, length - 1);
    for (size_t i = 0; i <= length; ++i) advance();
    tokens_.push_back(std::move(token));
  }

  void symbol() {
    for (const std::string_view symbol : kSymbols) {
      if (text_.substr(at_, symbol.size()) != symbol) continue;
      if (symbol == "(" || symbol == "[") ++depth_;
      if (symbol == ")" || symbol == "]") depth_ = std::max(0, depth_ - 1);
      return push(Token::Kind::kSymbol, symbol.size());
    }
    fail(fmt::format(
        "character '{}' begins nothing that a rule may hold",
        std::isprint(static_cast<unsigned char>(here())) ? std::string(1, here()) : "?"));
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw InputError("{}:{}:{}: {}", name_, line_, at_ - line_begin_ + 1, what);
  }

  std::string_view text_;
  const std::string& name_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  size_t line_begin_ = 0;
  int line_ = 1;
  int depth_ = 0;
};

}  // namespace

std::vector<Token> tokenize(std::string_view text, const std::string& name) {
  return Lexer(text, name).run();
}

}  // namespace reverie
