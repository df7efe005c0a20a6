#include "core/onnx/inline_functions.h"

#include <onnx/defs/schema.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/base/error.h"
#include "core/onnx/captures.h"
#include "core/onnx/newer_opsets.h"
#include "core/onnx/opaque_node.h"
#include "core/onnx/subgraphs.h"

namespace reverie::proto {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;
using Key = std::pair<std::string, std::string>;
using Versions = std::map<std::string, int64_t>;

Key key_of(const std::string& domain, const std::string& name) {
  return {is_standard_domain(domain) ? "" : domain, name};
}

Versions versions_of(const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports) {
  Versions versions;
  for (const auto& import : imports)
    versions[is_standard_domain(import.domain()) ? "" : import.domain()] = import.version();
  return versions;
}

/// As since_version, for other domains, too.
int since_version_in(const std::string& domain, const std::string& op, int64_t version) {
  if (domain.empty()) return since_version(op, static_cast<int>(version));
  const auto* schema = onnx::OpSchemaRegistry::Schema(op, static_cast<int>(version), domain);
  return schema == nullptr ? 0 : schema->SinceVersion();
}

/// Whether a field is set that newer versions of ONNX have and the library does not know.
template <typename Message>
bool has_newer_field(const Message& message, int number) {
  const auto& fields = message.unknown_fields();
  for (int i = 0; i < fields.field_count(); ++i)
    if (fields.field(i).number() == number) return true;
  return false;
}

// Numbers of fields in onnx.proto since IR version 9 and 10.
constexpr int kDefaultsOfFunction = 11, kOverloadOfFunction = 13, kOverloadOfNode = 8;

/// Attributes have defaults, or the call chooses among functions of that name.
bool says_more(const onnx::FunctionProto& function) {
  return has_newer_field(function, kDefaultsOfFunction) ||
         has_newer_field(function, kOverloadOfFunction);
}

/// Whether the nodes mean the same under both.
bool mean_the_same(const Nodes& nodes, const Versions& here, const Versions& there) {
  return std::ranges::all_of(nodes, [&](const onnx::NodeProto& node) {
    const std::string domain = is_standard_domain(node.domain()) ? "" : node.domain();
    const auto a = here.find(domain), b = there.find(domain);
    if (a != here.end() && b != there.end() && a->second != b->second) {
      const int since = since_version_in(domain, node.op_type(), a->second);
      if (since == 0 || since != since_version_in(domain, node.op_type(), b->second)) return false;
    }
    bool same = true;
    for_each_subgraph(node, [&](const onnx::GraphProto& graph) {
      same = same && mean_the_same(graph.node(), here, there);
    });
    return same;
  });
}

/// Attributes that refer to those of the call get their values, or vanish with them.
void substitute_attributes(const onnx::NodeProto& call, onnx::NodeProto* node) {
  auto* attributes = node->mutable_attribute();
  for (int i = attributes->size(); i-- > 0;) {
    onnx::AttributeProto& attribute = *attributes->Mutable(i);
    if (attribute.ref_attr_name().empty()) continue;
    const auto given =
        std::ranges::find_if(call.attribute(), [&](const onnx::AttributeProto& other) {
          return other.name() == attribute.ref_attr_name();
        });
    if (given == call.attribute().end()) {
      attributes->DeleteSubrange(i, 1);
      continue;
    }
    const std::string name = attribute.name();
    attribute = *given;
    attribute.set_name(name);
  }
  for_each_subgraph(*node, [&](onnx::GraphProto& graph) {
    for (auto& inner : *graph.mutable_node()) substitute_attributes(call, &inner);
  });
}

void collect_names(const Nodes& nodes, std::set<std::string>* names) {
  for (const onnx::NodeProto& node : nodes) {
    names->insert(node.input().begin(), node.input().end());
    names->insert(node.output().begin(), node.output().end());
    names->merge(local_names(node));
  }
}

class Inliner {
 public:
  explicit Inliner(onnx::ModelProto* model)
      : model_(*model), versions_(versions_of(model->opset_import())) {
    for (const auto& function : model_.functions()) {
      Versions own = versions_of(function.opset_import());
      for (const auto& [domain, version] : own) imports_.try_emplace(domain, version);
      if (!says_more(function))
        functions_.emplace(key_of(function.domain(), function.name()), &function);
    }
    for (const auto& [domain, version] : versions_) imports_[domain] = version;
  }

  void run() {
    std::set<std::string> names;
    collect_names(model_.graph().node(), &names);
    const auto clashes = [&](const std::string& name) { return name.starts_with(prefix_); };
    while (std::ranges::any_of(names, clashes)) prefix_ += "_";
    expand(model_.mutable_graph()->mutable_node());
    if (!inlined_) return;
    add_imports();
    remove_functions();
  }

 private:
  const onnx::FunctionProto* called_by(const onnx::NodeProto& node) const {
    if (has_newer_field(node, kOverloadOfNode)) return nullptr;
    const auto at = functions_.find(key_of(node.domain(), node.op_type()));
    return at == functions_.end() ? nullptr : at->second;
  }

  void expand(Nodes* nodes) {
    Nodes result;
    for (auto& node : *nodes) {
      for_each_subgraph(node, [&](onnx::GraphProto& graph) { expand(graph.mutable_node()); });
      const onnx::FunctionProto* function = called_by(node);
      if (function == nullptr ||
          !mean_the_same(function->node(), versions_of(function->opset_import()), imports_)) {
        *result.Add() = std::move(node);
        continue;
      }
      Nodes body = body_of(*function, node);
      expand(&body);
      for (auto& inner : body) *result.Add() = std::move(inner);
      inlined_ = true;
    }
    nodes->Swap(&result);
  }

  Nodes body_of(const onnx::FunctionProto& function, const onnx::NodeProto& call) {
    const std::string prefix = fmt::format("{}{}/", prefix_, calls_++);
    std::map<std::string, std::string> renamed;
    for (const auto& node : function.node())
      for (const auto& output : node.output())
        if (!output.empty()) renamed[output] = prefix + output;
    for (int i = std::min(function.output_size(), call.output_size()); i-- > 0;)
      if (!call.output(i).empty()) renamed[function.output(i)] = call.output(i);
    for (int i = 0; i < function.input_size(); ++i)
      renamed[function.input(i)] = i < call.input_size() ? call.input(i) : std::string();
    Nodes body;
    for (const auto& node : function.node()) {
      onnx::NodeProto& copy = *body.Add();
      copy = node;
      substitute_attributes(call, &copy);
      copy.set_name(name_or_output(call) + "/" + name_or_output(node));
      rename(renamed, prefix, &copy);
    }
    add_outputs(function, call, renamed, &body);
    return body;
  }

  static void rename(const std::map<std::string, std::string>& renamed, const std::string& prefix,
                     onnx::NodeProto* node) {
    std::map<std::string, std::string> local;
    for (const std::string& name : local_names(*node)) local[name] = prefix + "inner/" + name;
    rename_local(node, local);
    rename_captured(node, renamed);
    for (auto* names : {node->mutable_input(), node->mutable_output()})
      for (auto& name : *names)
        if (const auto at = renamed.find(name); at != renamed.end()) name = at->second;
  }

  /// An output may be an input of the function, or be listed twice.
  static void add_outputs(const onnx::FunctionProto& function, const onnx::NodeProto& call,
                          const std::map<std::string, std::string>& renamed, Nodes* body) {
    for (int i = 0; i < std::min(function.output_size(), call.output_size()); ++i) {
      const auto at = renamed.find(function.output(i));
      if (call.output(i).empty() || at == renamed.end() || at->second == call.output(i)) continue;
      onnx::NodeProto& node = *body->Add();
      node.set_op_type("Identity");
      node.set_name(name_or_output(call) + "/" + call.output(i));
      node.add_input(at->second);
      node.add_output(call.output(i));
    }
  }

  void add_imports() {
    for (const auto& [domain, version] : imports_) {
      if (versions_.contains(domain)) continue;
      auto* import = model_.add_opset_import();
      import->set_domain(domain);
      import->set_version(version);
    }
  }

  void collect_calls(const Nodes& nodes, std::set<const onnx::FunctionProto*>* called) const {
    for (const auto& node : nodes) {
      const onnx::FunctionProto* function = called_by(node);
      if (function != nullptr && called->insert(function).second)
        collect_calls(function->node(), called);
      for_each_subgraph(
          node, [&](const onnx::GraphProto& graph) { collect_calls(graph.node(), called); });
    }
  }

  void remove_functions() {
    std::set<const onnx::FunctionProto*> called;
    collect_calls(model_.graph().node(), &called);
    for (const auto& function : model_.functions())
      if (says_more(function) && called.insert(&function).second)
        collect_calls(function.node(), &called);
    google::protobuf::RepeatedPtrField<onnx::FunctionProto> kept;
    for (const auto& function : model_.functions())
      if (called.contains(&function)) *kept.Add() = function;
    model_.mutable_functions()->Swap(&kept);
  }

  onnx::ModelProto& model_;
  Versions versions_;  // of the model
  Versions imports_;   // and of functions, for domains that the model does not import
  std::map<Key, const onnx::FunctionProto*> functions_;
  std::string prefix_ = "call";
  int64_t calls_ = 0;
  bool inlined_ = false;
};

}  // namespace

void inline_functions(onnx::ModelProto* model) {
  if (model->functions_size() > 0) Inliner(model).run();
}

}  // namespace reverie::proto
