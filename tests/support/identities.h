#pragma once

#include <map>
#include <string>

#include "core/base/error.h"
#include "core/rulekit/generate/identity.h"

namespace reverie::generate {

/// "matmul(a, add(b, c)) = add(matmul(a, b), matmul(a, c))", outputs separated by ";". Operators by
/// their names; concat_AXIS_RANK, split_AXIS_OUTPUT_RANK, one_RANK and reduce_sum_AXIS have
/// numbers.
class IdentityParser {
 public:
  explicit IdentityParser(const std::vector<Operator>& operators) : operators_(operators) {}

  Identity parse(std::string text) {
    identity_ = {};
    variables_.clear();
    std::erase(text, ' ');
    text_ = text + ";";
    for (at_ = 0; at_ < text_.size();) {
      identity_.left.push_back(term());
      expect('=');
      identity_.right.push_back(term());
      expect(';');
    }
    return identity_;
  }

 private:
  void expect(char c) {
    if (text_[at_++] != c) throw InputError("{}: expected '{}' before {}", text_, c, at_);
  }

  static std::string numbered_name(const Operator& op) {
    switch (op.kind) {
      case Kind::kConcat:
        return fmt::format("concat_{}_{}", op.axis, op.rank);
      case Kind::kSplitFirst:
        return fmt::format("split_{}_0_{}", op.axis, op.rank);
      case Kind::kSplitSecond:
        return fmt::format("split_{}_1_{}", op.axis, op.rank);
      case Kind::kOne:
        return fmt::format("one_{}", op.rank);
      case Kind::kReduceSum:
        return fmt::format("reduce_sum_{}", op.axis);
      default:
        return name_of(op);
    }
  }

  int operator_of(const std::string& name) const {
    for (size_t i = 0; i < operators_.size(); ++i)
      if (numbered_name(operators_[i]) == name) return static_cast<int>(i);
    throw InputError("no operator '{}'", name);
  }

  int term() {
    const size_t end = text_.find_first_of("(,)=;", at_);
    const std::string name = text_.substr(at_, end - at_);
    at_ = end;
    Identity::Node node;
    if (text_[at_] != '(') {
      const auto [known, fresh] = variables_.emplace(name, identity_.variables);
      if (fresh) ++identity_.variables;
      node.variable = known->second;
    } else {
      ++at_;
      node.op = operator_of(name);
      if (text_[at_] != ')') node.a = term();
      if (text_[at_] == ',') {
        ++at_;
        node.b = term();
      }
      expect(')');
    }
    for (size_t i = 0; i < identity_.nodes.size(); ++i)
      if (identity_.nodes[i] == node) return static_cast<int>(i);
    identity_.nodes.push_back(node);
    return static_cast<int>(identity_.nodes.size()) - 1;
  }

  const std::vector<Operator>& operators_;
  Identity identity_;
  std::map<std::string, int> variables_;
  std::string text_;
  size_t at_ = 0;
};

}  // namespace reverie::generate
