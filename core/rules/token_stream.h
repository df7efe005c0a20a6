#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/rules/lexer.h"

namespace reverie {

/// Tokens read one after another, with errors that name the place.
class TokenStream {
 public:
  TokenStream(std::vector<Token> tokens, std::string name)
      : tokens_(std::move(tokens)), name_(std::move(name)) {}

  const Token& peek(size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  Token next() {
    Token token = peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    if (token.kind != Token::Kind::kNewline) line_end_ = peek().begin;
    return token;
  }
  /// Behind the last token that was read and is no newline, where a line ends there.
  size_t line_end() const { return line_end_; }
  bool accept(std::string_view symbol) {
    if (!peek().is(symbol)) return false;
    next();
    return true;
  }
  bool accept_word(std::string_view word) {
    if (!peek().is_word(word)) return false;
    next();
    return true;
  }
  void expect(std::string_view symbol) {
    if (!accept(symbol)) fail_expected(fmt::format("'{}'", symbol));
  }
  Token expect_name(std::string_view what) {
    if (peek().kind != Token::Kind::kName) fail_expected(what);
    return next();
  }
  void skip_newlines() {
    while (peek().kind == Token::Kind::kNewline) next();
  }

  [[noreturn]] void fail_expected(std::string_view what) const {
    const Token& token = peek();
    const std::string found = token.kind == Token::Kind::kEnd       ? "the end of the text"
                              : token.kind == Token::Kind::kNewline ? "the end of the line"
                                                                    : "'" + token.text + "'";
    fail(token, fmt::format("expected {}, found {}", what, found));
  }
  [[noreturn]] void fail(const Token& token, const std::string& what) const {
    throw InputError("{}:{}:{}: {}", name_, token.line, token.column, what);
  }
  const std::string& name() const { return name_; }

  /// Held while something nested is read; fails where nesting gets out of hand.
  class Nested {
   public:
    explicit Nested(TokenStream& in) : in_(in) {
      if (++in_.depth_ > kMaxDepth)
        in_.fail(in_.peek(), fmt::format("more than {} levels of nesting", kMaxDepth));
    }
    ~Nested() { --in_.depth_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;

   private:
    TokenStream& in_;
  };

 private:
  static constexpr int kMaxDepth = 200;
  std::vector<Token> tokens_;
  std::string name_;
  size_t at_ = 0;
  size_t line_end_ = 0;
  int depth_ = 0;
};

}  // namespace reverie
