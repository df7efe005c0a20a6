#include "core/ir/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>
#include <unordered_map>

#include "core/base/error.h"
#include "core/ir/constant_inputs.h"
#include "core/ir/formula.h"

namespace reverie {
namespace {

bool is_word_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) ||
         std::string_view("_.%/+-").find(c) != std::string_view::npos;
}

std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += {'\\', c};
    } else if (std::isprint(static_cast<unsigned char>(c))) {
      result += c;
    } else {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return result + "\"";
}

std::string word_or_quoted(const std::string& name) {
  const bool plain = !name.empty() && name != "-" && name[0] != '%' &&
                     std::all_of(name.begin(), name.end(), is_word_character);
  return plain ? name : in_quotes(name);
}

std::string show(const AttrValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return in_quotes(*text);
  const auto* texts = std::get_if<std::vector<std::string>>(&value);
  if (texts == nullptr) return to_string(value);
  std::vector<std::string> shown;
  for (const std::string& text : *texts) shown.push_back(in_quotes(text));
  return fmt::format("[{}]", fmt::join(shown, ", "));
}

constexpr std::string_view kIdentityKernel = "identity kernel";

std::string describe_weight(const Weight& weight) {
  const std::string name =
      weight.name().empty() ? "" : fmt::format(", name={}", in_quotes(weight.name()));
  if (is_formula(weight) && is_floating(weight.type().dtype) && weight.is_fill())
    return fmt::format("{{constant={}}}", weight.fill_value());
  if (is_formula(weight) && !weight.is_fill())
    return fmt::format("{{formula=\"{}\"}}", kIdentityKernel);
  if (weight.is_fill()) return fmt::format("{{fill={}{}}}", weight.fill_value(), name);
  if (weight.type().elements() > Weight::kSmallWeight)
    return fmt::format("{{weight={:016x}{}}}", weight.identity(), name);
  const auto show_list = [&](const auto& list) {
    return fmt::format("{{value=[{}]{}}}", fmt::join(list, ", "), name);
  };
  const Tensor tensor = weight.materialize();
  if (weight.type().dtype == DType::kFloat32) return show_list(tensor.data<float>());
  return is_floating(weight.type().dtype) ? show_list(tensor.to_doubles())
                                          : show_list(tensor.to_integers());
}

std::string describe_attributes(const Attributes& attributes) {
  if (attributes.empty()) return "";
  std::vector<std::string> shown;
  for (const Attributes::Entry& entry : attributes.entries())
    shown.push_back(entry.first + "=" + show(entry.second));
  return fmt::format(" {{{}}}", fmt::join(shown, ", "));
}

class Printer {
 public:
  explicit Printer(const Graph& graph)
      : graph_(graph), names_(static_cast<size_t>(graph.value_capacity())) {
    for (const NodeId input : graph.inputs()) taken_.insert(graph.input_name(input));
  }

  std::string print() {
    for (const NodeId input : graph_.inputs())
      statement(input, {word_or_quoted(graph_.input_name(input))});
    for (const NodeId node : graph_.topological_order()) {
      if (&graph_.op(node) == &input_op()) continue;
      std::vector<std::string> fresh(graph_.outputs(node).size());
      for (std::string& name : fresh) name = next_name();
      statement(node, fresh);
    }
    for (const GraphOutput& output : graph_.outputs())
      text_ += fmt::format("output {} = {}\n", word_or_quoted(output.name), name(output.value));
    return std::move(text_);
  }

 private:
  std::string next_name() {
    std::string name = fmt::format("%{}", numbered_++);
    return taken_.count(name) == 0 ? name : next_name();
  }

  std::string name(ValueId value) const {
    return value.valid() ? names_[static_cast<size_t>(value.index)] : std::string("-");
  }

  void statement(NodeId node, const std::vector<std::string>& outputs) {
    std::vector<std::string> inputs;
    std::vector<std::string> types;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const ValueId value = graph_.outputs(node)[i];
      names_[static_cast<size_t>(value.index)] = outputs[i];
      types.push_back(to_string(graph_.type(value)));
    }
    for (const ValueId input : graph_.inputs(node)) inputs.push_back(name(input));
    text_ += fmt::format("{} = {}", fmt::join(outputs, ", "), graph_.op(node).name);
    if (!inputs.empty()) text_ += fmt::format("({})", fmt::join(inputs, ", "));
    if (graph_.weight(node)) text_ += fmt::format(" {}", describe_weight(*graph_.weight(node)));
    if (&graph_.op(node) != &input_op()) text_ += describe_attributes(graph_.attributes(node));
    text_ += types.empty() ? "\n" : fmt::format(" : {}\n", fmt::join(types, ", "));
  }

  const Graph& graph_;
  std::vector<std::string> names_;  // by value
  std::set<std::string> taken_;
  int numbered_ = 0;
  std::string text_;
};

// --- Reading ----------------------------------------------------------------------------------

/// The tokens of one line: words, quoted texts and punctuation.
class Line {
 public:
  explicit Line(std::string_view text) : rest_(text) { advance(); }

  bool at_end() const { return kind_ == Kind::kEnd; }
  bool at(char punctuation) const {
    return kind_ == Kind::kPunctuation && token_[0] == punctuation;
  }
  bool at_text() const { return kind_ == Kind::kText; }
  bool accept(char punctuation) {
    if (!at(punctuation)) return false;
    advance();
    return true;
  }
  void expect(char punctuation) {
    if (!accept(punctuation)) throw InputError("'{}' expected before {}", punctuation, here());
  }
  /// A word or quoted text.
  std::string name() {
    if (kind_ != Kind::kWord && kind_ != Kind::kText)
      throw InputError("name expected before {}", here());
    std::string name = token_;
    advance();
    return name;
  }
  std::string here() const {
    return at_end() ? "the end of the line" : fmt::format("'{}'", token_);
  }

 private:
  enum class Kind { kWord, kText, kPunctuation, kEnd };

  void advance() {
    while (!rest_.empty() && std::isspace(static_cast<unsigned char>(rest_[0])))
      rest_.remove_prefix(1);
    token_.clear();
    if (rest_.empty()) {
      kind_ = Kind::kEnd;
    } else if (rest_[0] == '"') {
      read_text();
    } else if (is_word_character(rest_[0])) {
      kind_ = Kind::kWord;
      while (!rest_.empty() && is_word_character(rest_[0])) take();
    } else {
      kind_ = Kind::kPunctuation;
      take();
    }
  }

  void take() {
    token_ += rest_[0];
    rest_.remove_prefix(1);
  }

  void read_text() {
    kind_ = Kind::kText;
    rest_.remove_prefix(1);
    while (!rest_.empty() && rest_[0] != '"') {
      if (rest_[0] != '\\') {
        take();
        continue;
      }
      rest_.remove_prefix(1);
      unsigned code = 0;
      const char* digits = rest_.data() + 1;
      if (rest_.size() >= 3 && rest_[0] == 'x' &&
          std::from_chars(digits, digits + 2, code, 16).ptr == digits + 2) {
        token_ += static_cast<char>(code);
        rest_.remove_prefix(3);
      } else if (!rest_.empty()) {
        take();
      }
    }
    if (rest_.empty()) throw InputError("a text without closing quote");
    rest_.remove_prefix(1);
  }

  std::string_view rest_;
  std::string token_;
  Kind kind_ = Kind::kEnd;
};

template <typename T>
bool read_number(const std::string& word, T& value) {
  const char* end = word.data() + word.size();
  const char* begin = word.data() + word.starts_with('+');
  const auto [last, error] = std::from_chars(begin, end, value);
  return error == std::errc() && last == end;
}

double read_double(const std::string& word) {
  double value = 0;
  if (!read_number(word, value)) throw InputError("'{}' is no number", word);
  return value;
}

AttrValue read_scalar(Line& line) {
  const bool text = line.at_text();
  const std::string word = line.name();
  int64_t integer = 0;
  if (text) return word;
  const bool is_negative_zero = word == "-0";  // of a float
  if (!is_negative_zero && read_number(word, integer)) return integer;
  return read_double(word);
}

AttrValue read_list(Line& line) {
  std::vector<AttrValue> items;
  while (!line.accept(']')) {
    if (!items.empty()) line.expect(',');
    items.push_back(read_scalar(line));
  }
  const auto holds = [&](auto zero) {
    return std::all_of(items.begin(), items.end(), [](const AttrValue& item) {
      return std::holds_alternative<decltype(zero)>(item);
    });
  };
  if (holds(int64_t{})) {
    std::vector<int64_t> list;
    for (const AttrValue& item : items) list.push_back(std::get<int64_t>(item));
    return list;
  }
  if (holds(std::string{})) {
    std::vector<std::string> list;
    for (const AttrValue& item : items) list.push_back(std::get<std::string>(item));
    return list;
  }
  std::vector<double> list;
  for (const AttrValue& item : items) list.push_back(Attributes{{"item", item}}.number("item"));
  return list;
}

Attributes read_attributes(Line& line) {
  Attributes attributes;
  if (!line.accept('{')) return attributes;
  while (!line.accept('}')) {
    if (!attributes.empty()) line.expect(',');
    const std::string name = line.name();
    line.expect('=');
    // An identity is a word of hexadecimal digits, not a number.
    attributes.set(name, name == "weight"   ? AttrValue(line.name())
                         : line.accept('[') ? read_list(line)
                                            : read_scalar(line));
  }
  return attributes;
}

TensorType read_type(Line& line) {
  const std::string element = line.name();
  if (element == "unknown") return {};
  TensorType type{dtype_named(element), {}};
  const std::string extents = line.name();
  if (extents == "scalar") return type;
  for (size_t at = 0; at <= extents.size();) {
    const size_t end = std::min(extents.find('x', at), extents.size());
    int64_t extent = 0;
    if (!read_number(extents.substr(at, end - at), extent) || extent < 0)
      throw InputError("'{}' is no shape", extents);
    type.shape.push_back(extent);
    at = end + 1;
  }
  return type;
}

struct Statement {
  std::vector<std::string> names;
  std::string op;
  std::vector<std::string> inputs;
  Attributes attributes;
  std::vector<TensorType> types;
};

Statement read_statement(Line& line) {
  Statement statement;
  do statement.names.push_back(line.name());
  while (line.accept(','));
  line.expect('=');
  statement.op = line.name();
  if (line.accept('(')) {
    while (!line.accept(')')) {
      if (!statement.inputs.empty()) line.expect(',');
      // A quoted "-" cannot be told from an absent input; graph inputs of that name do not exist.
      statement.inputs.push_back(line.name());
    }
  }
  statement.attributes = read_attributes(line);
  if (line.accept(':')) {
    do statement.types.push_back(read_type(line));
    while (line.accept(','));
  }
  if (!line.at_end()) throw InputError("nothing expected after the statement, not {}", line.here());
  return statement;
}

/// A weight whose elements the text leaves out.
WeightPtr elided_weight(const std::string& digits, const TensorType& type,
                        const std::string& name) {
  uint64_t identity = 0;
  const char* end = digits.data() + digits.size();
  const auto [last, error] = std::from_chars(digits.data(), end, identity, 16);
  if (error != std::errc() || last != end)
    throw InputError("'{}' is no identity of a weight (hexadecimal digits)", digits);
  const auto refuse = [name]() -> Tensor {
    throw InputError("weight '{}': its elements are not in the text of the graph", name);
  };
  return Weight::lazy(type, identity, refuse, name);
}

WeightPtr formula_named(const std::string& name, const TensorType& type) {
  if (name == kIdentityKernel) return Weight::identity_kernel(type);
  throw InputError("no formula '{}'; there is '{}'", name, kIdentityKernel);
}

WeightPtr read_weight(const Attributes& attributes, const TensorType& type) {
  const std::string name = attributes.text("name", "");
  if (attributes.has("weight")) return elided_weight(attributes.text("weight", ""), type, name);
  if (attributes.has("fill")) return Weight::fill(type, attributes.number("fill"), name);
  if (attributes.has("constant")) return Weight::constant(type, attributes.number("constant"));
  if (attributes.has("formula")) return formula_named(attributes.text("formula"), type);
  if (!attributes.has("value"))
    throw InputError("a constant needs 'value', 'constant', 'formula', 'fill' or 'weight'");
  const AttrValue& value = *attributes.find("value");
  const auto tensor_of = [&](const auto& list) {
    if (static_cast<int64_t>(list.size()) != type.elements())
      throw InputError("{} elements for a constant of {}", list.size(), to_string(type));
    using T = typename std::decay_t<decltype(list)>::value_type;
    return Tensor::of<T>(type.shape, std::span<const T>(list)).cast(type.dtype);
  };
  if (const auto* list = std::get_if<std::vector<double>>(&value))
    return Weight::dense(tensor_of(*list), name);
  return Weight::dense(tensor_of(attributes.integers("value")), name);
}

class Parser {
 public:
  void read(std::string_view text) {
    Line line(text);
    Line ahead = line;
    if (!ahead.at_text() && ahead.name() == "output" && !ahead.at('=') && !ahead.at(',')) {
      line = ahead;
      const std::string name = line.name();
      line.expect('=');
      graph_.add_output(name, value(line.name()));
    } else {
      build(read_statement(line));
    }
  }
  Graph take() { return std::move(graph_); }

 private:
  ValueId value(const std::string& name) const {
    const auto at = values_.find(name);
    if (at == values_.end()) throw InputError("no value '{}' so far", name);
    return at->second;
  }

  void define(const Statement& statement, size_t index, ValueId id) {
    if (!values_.emplace(statement.names[index], id).second)
      throw InputError("'{}' is defined twice", statement.names[index]);
  }

  static const TensorType& only_type(const Statement& statement) {
    if (statement.types.size() != 1 || statement.names.size() != 1)
      throw InputError("{} needs one name and one type", statement.op);
    return statement.types[0];
  }

  NodeId build_node(const Statement& statement) {
    std::vector<ValueId> inputs;
    for (const std::string& name : statement.inputs)
      inputs.push_back(name == "-" ? ValueId{} : value(name));
    const OpSchema* op = find_op(statement.op);
    if (op == nullptr) throw InputError("no operator '{}'", statement.op);
    if (op == &opaque_op())
      return graph_.add_node(*op, inputs,
                             std::make_shared<const Attributes>(op->complete(statement.attributes)),
                             statement.types);
    const NodeId node = graph_.add_node(*op, inputs, statement.attributes);
    if (!statement.types.empty() && output_types(graph_, node) != statement.types)
      throw InputError("{} gives {}, not {}", statement.op,
                       to_string(output_types(graph_, node)[0]), to_string(statement.types[0]));
    return node;
  }

  void build(const Statement& statement) {
    if (statement.op == "Input")
      return define(statement, 0, graph_.add_input(statement.names[0], only_type(statement)));
    if (statement.op == "Constant")
      return define(statement, 0,
                    graph_.add_constant(read_weight(statement.attributes, only_type(statement))));
    const NodeId node = build_node(statement);
    if (graph_.outputs(node).size() != statement.names.size())
      throw InputError("{} has {} outputs, {} names are given", statement.op,
                       graph_.outputs(node).size(), statement.names.size());
    for (size_t i = 0; i < statement.names.size(); ++i)
      define(statement, i, graph_.output(node, static_cast<int>(i)));
  }

  Graph graph_;
  std::unordered_map<std::string, ValueId> values_;
};

}  // namespace

std::string to_text(const Graph& graph) { return Printer(graph).print(); }

Graph parse_graph(std::string_view text) {
  Parser parser;
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string_view::npos || line[first] == '#') continue;
    with_context(fmt::format("line {}", number), [&] { parser.read(line); });
  }
  return parser.take();
}

OperatorText parse_operator(std::string_view text) {
  Line line(text);
  OperatorText result;
  const std::string name = line.name();
  result.op = find_op(name);
  if (result.op == nullptr) throw InputError("no operator '{}'", name);
  line.expect('(');
  while (!line.accept(')')) {
    if (!result.inputs.empty()) line.expect(',');
    Line ahead = line;
    if (ahead.name() == "const") {
      line = ahead;
      result.constant_inputs |= constant_input(result.inputs.size());
    }
    result.inputs.push_back(read_type(line));
  }
  result.attributes = read_attributes(line);
  if (!line.at_end()) throw InputError("nothing expected after the operator, not {}", line.here());
  return result;
}

}  // namespace reverie
