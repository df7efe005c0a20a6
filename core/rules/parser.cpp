#include "core/rules/parser.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>

#include "core/rules/expression_parser.h"
#include "core/rules/token_stream.h"

namespace reverie {
namespace {

const std::set<std::string, std::less<>> kSections = {"rule",    "symmetric", "match", "where",
                                                      "replace", "example",   "proof"};

/// Reads one rule; the stream stands behind the word `rule`.
class RuleParser {
 public:
  explicit RuleParser(TokenStream& in) : in_(in), expressions_(in, pattern_, names_) {}

  RulePattern run() {
    const Token name = in_.expect_name("the name of the rule");
    pattern_.name = name.text;
    pattern_.origin = fmt::format("{}:{}", in_.name(), name.line);
    markers();
    section("match", [&] { source_statement(); });
    in_.skip_newlines();
    if (in_.peek().is_word("where")) section("where", [&] { condition(); });
    section("replace", [&] { target_statement(); });
    for (in_.skip_newlines(); in_.accept_word("example"); in_.skip_newlines()) example();
    pattern_.proof_begin = pattern_.proof_end = in_.line_end();
    if (in_.accept_word("proof")) proof();
    finish_outputs(name);
    return std::move(pattern_);
  }

 private:
  void markers() {
    for (in_.skip_newlines();; in_.skip_newlines()) {
      if (in_.accept_word("symmetric"))
        pattern_.symmetric = true;
      else if (in_.accept_word("apart"))
        pattern_.apart = true;
      else
        return;
    }
  }

  /// A keyword and its statements, which end with a line (or, conditions, with a comma).
  template <typename Body>
  void section(std::string_view keyword, Body body) {
    in_.skip_newlines();
    if (!in_.accept_word(keyword)) in_.fail_expected(fmt::format("'{}'", keyword));
    in_.skip_newlines();
    do {
      body();
      if (!in_.accept(",") && in_.peek().kind != Token::Kind::kNewline)
        in_.fail_expected("the end of the line");
      in_.skip_newlines();
    } while (!at_section());
  }

  bool at_section() const {
    const Token& token = in_.peek();
    return token.kind == Token::Kind::kEnd ||
           (token.kind == Token::Kind::kName && kSections.contains(token.text) &&
            !in_.peek(1).is("="));
  }

  const OpSchema& operator_named(const Token& token) const {
    const OpSchema* op = find_op(token.text);
    if (op == nullptr || op->fused || op == &input_op() || op == &constant_op() ||
        op == &opaque_op())
      in_.fail(token, fmt::format("'{}' is no operator that a rule may hold", token.text));
    return *op;
  }

  void check_attribute(const OpSchema& op, const Token& token) const {
    const auto known = [&](const AttrSpec& spec) { return spec.name == token.text; };
    if (std::none_of(op.attributes.begin(), op.attributes.end(), known))
      in_.fail(token, fmt::format("{} has no attribute '{}'", op.name, token.text));
  }

  std::vector<Token> output_names(std::vector<bool>* sequences) {
    std::vector<Token> names;
    do {
      names.push_back(in_.expect_name("a name"));
      sequences->push_back(in_.accept("..."));
    } while (in_.accept(","));
    in_.expect("=");
    return names;
  }

  // --- Source -----------------------------------------------------------------------------------

  int source_value(const Token& token, bool sequence) {
    const auto [at, fresh] = names_.values.emplace(token.text, pattern_.values.size());
    if (fresh) {
      pattern_.values.push_back({token.text, -1, sequence, false});
    } else if (pattern_.values[static_cast<size_t>(at->second)].sequence != sequence) {
      in_.fail(token, fmt::format("'{0}' stands both for one tensor and, as '{0}...', for many",
                                  token.text));
    }
    return at->second;
  }

  void source_statement() {
    std::vector<bool> sequences;
    const std::vector<Token> names = output_names(&sequences);
    const int op = source_call();
    for (size_t i = 0; i < names.size(); ++i) {
      const int value = source_value(names[i], sequences[i]);
      if (pattern_.values[static_cast<size_t>(value)].producer >= 0)
        in_.fail(names[i], fmt::format("'{}' is defined twice", names[i].text));
      pattern_.values[static_cast<size_t>(value)].producer = op;
      pattern_.source[static_cast<size_t>(op)].outputs.push_back(value);
      names_.operators.emplace(names[i].text, op);
    }
  }

  int source_call() {
    const TokenStream::Nested nested(in_);
    const Token name = in_.expect_name("an operator");
    const int index = static_cast<int>(pattern_.source.size());
    pattern_.source.push_back({&operator_named(name), {}, {}, {}});
    in_.expect("(");
    std::vector<int> inputs;
    if (!in_.peek().is(")") && !in_.peek().is(";")) {
      do inputs.push_back(source_argument());
      while (in_.accept(","));
    }
    pattern_.source[static_cast<size_t>(index)].inputs = std::move(inputs);
    if (in_.accept(";")) {
      do source_attribute(index);
      while (in_.accept(","));
    }
    in_.expect(")");
    return index;
  }

  int source_argument() {
    if (in_.peek(1).is("(")) {
      const int op = source_call();
      const int value = static_cast<int>(pattern_.values.size());
      pattern_.values.push_back({"", op, false, false});
      pattern_.source[static_cast<size_t>(op)].outputs.push_back(value);
      return value;
    }
    const Token name = in_.expect_name("a tensor or an operator");
    const bool optional = in_.accept("?");
    const int value = source_value(name, in_.accept("..."));
    if (optional) pattern_.values[static_cast<size_t>(value)].optional = true;
    return value;
  }

  void source_attribute(int op) {
    const Token name = in_.expect_name("an attribute");
    check_attribute(*pattern_.source[static_cast<size_t>(op)].op, name);
    in_.expect("=");
    Expr attribute;
    attribute.kind = Expr::Kind::kAttribute;
    attribute.index = op;
    attribute.name = name.text;
    if (const auto variable = expressions_.fresh_variable()) {
      pattern_.conditions.push_back({*variable, attribute});
      return;
    }
    const Expr value = expressions_.parse();
    if (value.kind == Expr::Kind::kLiteral) {
      pattern_.source[static_cast<size_t>(op)].attributes.emplace_back(name.text, value.literal);
    } else {
      pattern_.conditions.push_back({-1, expressions_.call("==", {attribute, value})});
    }
  }

  void condition() {
    if (in_.peek().kind == Token::Kind::kName && in_.peek(1).is("=")) {
      const Token name = in_.next();
      in_.next();
      if (names_.values.contains(name.text) || names_.variables.contains(name.text))
        in_.fail(name, fmt::format("'{}' has a meaning already; choose another name", name.text));
      const Expr value = expressions_.parse();
      pattern_.conditions.push_back({expressions_.add_variable(name.text), value});
    } else {
      pattern_.conditions.push_back({-1, expressions_.parse()});
    }
  }

  // --- Target -----------------------------------------------------------------------------------

  struct Term {
    TargetValue value;
    bool sequence = false;
  };

  Term new_target(TargetStep step, bool sequence) {
    const int value = pattern_.target_values++;
    step.outputs = {value};
    pattern_.target.push_back(std::move(step));
    target_sequence_.push_back(sequence);
    return {{false, value}, sequence};
  }

  void target_statement() {
    std::vector<bool> sequences;
    const std::vector<Token> names = output_names(&sequences);
    if (names.size() == 1) {
      const Term term = target_term(sequences[0]);
      if (term.sequence != sequences[0])
        in_.fail(names[0], fmt::format("'{}' is {} but what it is given is {}", names[0].text,
                                       sequences[0] ? "a sequence" : "one tensor",
                                       term.sequence ? "a sequence" : "one tensor"));
      return define(names[0], term);
    }
    const Term first = target_term(false);
    if (first.value.source || pattern_.target.back().outputs != std::vector{first.value.index} ||
        pattern_.target.back().kind != TargetStep::Kind::kOperator)
      in_.fail(names[0], "several names need an operator with several outputs on the right");
    define(names[0], first);
    for (size_t i = 1; i < names.size(); ++i) {
      if (sequences[i]) in_.fail(names[i], "a sequence of outputs must be the only one");
      const int value = pattern_.target_values++;
      pattern_.target.back().outputs.push_back(value);
      target_sequence_.push_back(false);
      define(names[i], {{false, value}, false});
    }
  }

  void define(const Token& name, const Term& term) {
    if (!target_names_.emplace(name.text, term).second)
      in_.fail(name, fmt::format("'{}' is defined twice", name.text));
    const auto source = names_.values.find(name.text);
    if (source == names_.values.end()) return;
    const PatternValue& value = pattern_.values[static_cast<size_t>(source->second)];
    if (value.producer < 0)
      in_.fail(name, fmt::format("'{}' is an input of the pattern and cannot be replaced; only "
                                 "outputs of its operators can",
                                 name.text));
    if (value.sequence != term.sequence)
      in_.fail(name, fmt::format("'{}' is a sequence on one side only", name.text));
    pattern_.outputs.push_back({source->second, term.value});
  }

  /// `sequence`: the statement names a sequence, so that a call gives all its outputs.
  Term target_term(bool sequence) {
    Term term = target_primary(sequence, false);
    while (in_.accept("??")) {
      const Term other = target_primary(sequence, false);
      TargetStep step;
      step.kind = TargetStep::Kind::kElse;
      step.inputs = {term.value, other.value};
      term = new_target(std::move(step), term.sequence);
    }
    return term;
  }

  Term target_primary(bool sequence, bool inside_map) {
    const TokenStream::Nested nested(in_);
    const Token name = in_.expect_name("a tensor or an operator");
    if (name.text == "fill" && in_.peek().is("(")) return made(TargetStep::Kind::kFill, 3);
    if (name.text == "identity" && in_.peek().is("(")) return made(TargetStep::Kind::kIdentity, 2);
    if (in_.peek().is("(")) return target_call(name, sequence);
    Term term;
    if (const auto at = target_names_.find(name.text); at != target_names_.end()) {
      term = at->second;
    } else if (const auto at = names_.values.find(name.text); at != names_.values.end()) {
      term = {{true, at->second}, pattern_.values[static_cast<size_t>(at->second)].sequence};
    } else {
      in_.fail(name, fmt::format("'{}' is no tensor of this rule", name.text));
    }
    if (in_.accept("...") != term.sequence && !inside_map)
      in_.fail(name, fmt::format("'{}' is {}", name.text,
                                 term.sequence ? "a sequence: write it with '...'"
                                               : "one tensor: write it without '...'"));
    return term;
  }

  /// A constant from so many arguments.
  Term made(TargetStep::Kind kind, int arguments) {
    TargetStep step;
    step.kind = kind;
    in_.expect("(");
    for (int i = 0; i < arguments; ++i) {
      if (i > 0) in_.expect(",");
      step.arguments.push_back(expressions_.parse());
    }
    in_.expect(")");
    return new_target(std::move(step), false);
  }

  Term target_call(const Token& name, bool sequence) {
    TargetStep step;
    step.op = &operator_named(name);
    in_.expect("(");
    bool elements = false;  // sequences without '...': the call is made for each element
    if (!in_.peek().is(")") && !in_.peek().is(";")) {
      do {
        const bool spread = argument_is_spread();
        Term term = target_primary(false, true);
        while (in_.accept("??")) term = otherwise(term);
        if (term.sequence && !spread) elements = true;
        step.inputs.push_back(term.value);
      } while (in_.accept(","));
    }
    if (in_.accept(";")) {
      do target_attribute(step);
      while (in_.accept(","));
    }
    in_.expect(")");
    step.map = in_.accept("...");
    if (step.map != elements)
      in_.fail(name, step.map ? "a call followed by '...' needs a sequence, written without '...'"
                              : "a sequence needs '...' behind it, or behind the call that is to "
                                "be made for each of its elements");
    step.sequence_output = sequence && !step.map;
    const bool many = step.map || step.sequence_output;
    return new_target(std::move(step), many);
  }

  Term otherwise(const Term& term) {
    const Term other = target_primary(false, true);
    TargetStep step;
    step.kind = TargetStep::Kind::kElse;
    step.inputs = {term.value, other.value};
    return new_target(std::move(step), term.sequence);
  }

  /// Whether the argument at hand is a name or a call with '...' behind it.
  bool argument_is_spread() const {
    if (!in_.peek(1).is("(")) return in_.peek(1).is("...");
    size_t at = 2;
    for (int depth = 1; depth > 0 && in_.peek(at).kind != Token::Kind::kEnd; ++at)
      depth += (in_.peek(at).is("(") ? 1 : 0) - (in_.peek(at).is(")") ? 1 : 0);
    return in_.peek(at).is("...");
  }

  void target_attribute(TargetStep& step) {
    const Token name = in_.expect_name("an attribute or 'like'");
    if (name.text == "like" && !in_.peek().is("=")) {
      const Token other = in_.expect_name("an operator of the source");
      const auto at = names_.operators.find(other.text);
      if (at == names_.operators.end())
        in_.fail(other, fmt::format("'{}' is no output of a source operator", other.text));
      if (pattern_.source[static_cast<size_t>(at->second)].op != step.op)
        in_.fail(other, fmt::format("'{}' is no {}", other.text, step.op->name));
      step.like = at->second;
      return;
    }
    check_attribute(*step.op, name);
    in_.expect("=");
    step.attributes.emplace_back(name.text, expressions_.parse());
  }

  void finish_outputs(const Token& name) {
    if (pattern_.outputs.empty())
      in_.fail(name, fmt::format("rule '{}' replaces nothing: give an output of 'match' a new "
                                 "meaning in 'replace'",
                                 name.text));
  }

  // --- Examples ---------------------------------------------------------------------------------

  void example() {
    RuleExample example;
    do {
      const Token name = in_.expect_name("a tensor or an operator's attribute");
      if (in_.accept(".")) {
        example_attribute(name, example);
      } else {
        example_tensors(name, example);
      }
    } while (in_.accept(","));
    if (in_.peek().kind != Token::Kind::kNewline) in_.fail_expected("',' or the end of the line");
    pattern_.examples.push_back(std::move(example));
  }

  void example_attribute(const Token& name, RuleExample& example) {
    const auto at = names_.operators.find(name.text);
    if (at == names_.operators.end())
      in_.fail(name, fmt::format("'{}' is no output of a source operator", name.text));
    const Token attribute = in_.expect_name("an attribute");
    check_attribute(*pattern_.source[static_cast<size_t>(at->second)].op, attribute);
    in_.expect("=");
    example.attributes[at->second].emplace_back(attribute.text, literal());
  }

  AttrValue literal() {
    const Token at = in_.peek();
    const Expr value = expressions_.parse();
    if (value.kind != Expr::Kind::kLiteral) in_.fail(at, "only plain values can stand here");
    return value.literal;
  }

  void example_tensors(const Token& name, RuleExample& example) {
    const auto at = names_.values.find(name.text);
    if (at == names_.values.end() || pattern_.values[static_cast<size_t>(at->second)].producer >= 0)
      in_.fail(name, fmt::format("'{}' is no input of the pattern", name.text));
    in_.expect(":");
    std::vector<ExampleTensor>& tensors = example.tensors[at->second];
    if (!in_.accept("(")) {
      tensors.push_back(example_tensor());
      return;
    }
    if (in_.accept(")")) return;
    do tensors.push_back(example_tensor());
    while (in_.accept(","));
    in_.expect(")");
  }

  ExampleTensor example_tensor() {
    ExampleTensor tensor;
    tensor.constant = in_.accept_word("const");
    tensor.type.dtype = DType::kFloat32;
    if (in_.peek().kind == Token::Kind::kName) {
      const Token name = in_.next();
      tensor.type.dtype = with_context(fmt::format("{}:{}:{}", in_.name(), name.line, name.column),
                                       [&] { return dtype_named(name.text); });
    }
    const Token at = in_.peek();
    const AttrValue extents = literal();
    if (!std::holds_alternative<std::vector<int64_t>>(extents))
      in_.fail(at, "expected a shape, such as [1, 3, 8, 8]");
    tensor.type.shape = std::get<std::vector<int64_t>>(extents);
    for (const int64_t extent : tensor.type.shape)
      if (extent < 0 || extent > 4096) in_.fail(at, "extents of an example lie in 0 to 4096");
    if (in_.accept("=")) {
      if (in_.accept_word("identity")) {
        tensor.identity = true;
        return tensor;
      }
      const AttrValue value = literal();
      tensor.filled = true;
      if (!std::holds_alternative<double>(value) && !std::holds_alternative<int64_t>(value))
        in_.fail(at, "expected a number behind '='");
      tensor.value = std::holds_alternative<double>(value)
                         ? std::get<double>(value)
                         : static_cast<double>(std::get<int64_t>(value));
    }
    return tensor;
  }

  // --- Proofs -----------------------------------------------------------------------------------

  void proof() {
    in_.skip_newlines();
    do {
      const Token method = in_.expect_name("'field' or 'axioms'");
      if (method.text == "field" && !pattern_.proof.field) {
        pattern_.proof.field = RuleProof::Field();
        field_proof(*pattern_.proof.field);
      } else if (method.text == "axioms" && !pattern_.proof.axioms) {
        axiom_proof(pattern_.proof.axioms.emplace());
      } else {
        in_.fail(method, "expected 'field' or 'axioms', each once");
      }
      if (in_.peek().kind != Token::Kind::kNewline && in_.peek().kind != Token::Kind::kEnd)
        in_.fail_expected("the end of the line");
      pattern_.proof_end = in_.line_end();
      in_.skip_newlines();
    } while (!at_section());
  }

  void field_proof(RuleProof::Field& field) {
    in_.expect("(");
    field.assignments = static_cast<int>(proof_entry<int64_t>("assignments"));
    in_.expect(",");
    field.ranks = proof_ranks();
    in_.expect(",");
    field.degree = proof_number("degree");
    in_.expect(",");
    field.error = proof_number("error");
    in_.expect(")");
  }

  void axiom_proof(RuleProof::Axioms& axioms) {
    in_.expect("(");
    axioms.ranks = proof_ranks();
    in_.expect(",");
    std::string_view rest;
    const std::string used = proof_entry<std::string>("used");
    for (rest = used; !rest.empty();) {
      const size_t comma = std::min(rest.find(", "), rest.size());
      axioms.used.emplace_back(rest.substr(0, comma));
      rest.remove_prefix(std::min(comma + 2, rest.size()));
    }
    in_.expect(")");
  }

  AttrValue proof_value(std::string_view key) {
    if (!in_.accept_word(key)) in_.fail_expected(fmt::format("'{}'", key));
    in_.expect("=");
    return literal();
  }

  template <typename T>
  T proof_entry(std::string_view key) {
    const Token at = in_.peek();
    const AttrValue value = proof_value(key);
    if (!std::holds_alternative<T>(value))
      in_.fail(at, fmt::format("'{}' is of another kind", key));
    return std::get<T>(value);
  }

  double proof_number(std::string_view key) {
    const Token at = in_.peek();
    const AttrValue value = proof_value(key);
    if (const auto* whole = std::get_if<int64_t>(&value)) return static_cast<double>(*whole);
    if (!std::holds_alternative<double>(value)) in_.fail(at, fmt::format("'{}' is a number", key));
    return std::get<double>(value);
  }

  std::vector<int> proof_ranks() {
    const auto ranks = proof_entry<std::vector<int64_t>>("ranks");
    return {ranks.begin(), ranks.end()};
  }

  TokenStream& in_;
  RulePattern pattern_;
  RuleNames names_;
  ExpressionParser expressions_;
  std::map<std::string, Term> target_names_;
  std::vector<bool> target_sequence_;
};

}  // namespace

std::vector<RulePattern> parse_rules(std::string_view text, const std::string& name) {
  TokenStream in(tokenize(text, name), name);
  std::vector<RulePattern> rules;
  for (in.skip_newlines(); in.peek().kind != Token::Kind::kEnd; in.skip_newlines()) {
    const size_t begin = in.peek().begin;
    if (!in.accept_word("rule")) in.fail_expected("'rule'");
    RulePattern rule = RuleParser(in).run();
    std::string_view body = text.substr(begin, in.peek().begin - begin);
    while (!body.empty() && (body.back() == '\n' || body.back() == ' ')) body.remove_suffix(1);
    rule.text = body;
    rule.proof_begin = std::min(rule.proof_begin - begin, body.size());
    rule.proof_end = std::min(rule.proof_end - begin, body.size());
    check_pattern(rule);
    rules.push_back(std::move(rule));
  }
  return rules;
}

}  // namespace reverie
