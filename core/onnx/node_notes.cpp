#include "core/onnx/node_notes.h"

namespace reverie::proto {
namespace {

constexpr int kNotesField = 9;
constexpr char kOwn[] = "reverie.";

using google::protobuf::UnknownField;
using google::protobuf::UnknownFieldSet;

NodeNotes all_notes(const onnx::NodeProto& node) {
  NodeNotes notes;
  const UnknownFieldSet& fields = node.unknown_fields();
  for (int i = 0; i < fields.field_count(); ++i) {
    const UnknownField& field = fields.field(i);
    const bool is_note =
        field.number() == kNotesField && field.type() == UnknownField::TYPE_LENGTH_DELIMITED;
    onnx::StringStringEntryProto entry;
    if (is_note && entry.ParseFromString(field.length_delimited()))
      notes.emplace_back(entry.key(), entry.value());
  }
  return notes;
}

}  // namespace

NodeNotes notes_of(const onnx::NodeProto& node) {
  NodeNotes notes = all_notes(node);
  std::erase_if(notes, [](const auto& note) { return note.first.starts_with(kOwn); });
  return notes;
}

void set_notes(const NodeNotes& notes, onnx::NodeProto* node) {
  UnknownFieldSet* const fields = node->mutable_unknown_fields();
  fields->DeleteByNumber(kNotesField);
  for (const auto& [key, value] : notes) {
    onnx::StringStringEntryProto entry;
    entry.set_key(key);
    entry.set_value(value);
    fields->AddLengthDelimited(kNotesField, entry.SerializeAsString());
  }
}

void set_note(const std::string& key, const std::string& value, onnx::NodeProto* node) {
  NodeNotes notes = all_notes(*node);
  std::erase_if(notes, [&](const auto& note) { return note.first == key; });
  if (!value.empty()) notes.emplace_back(key, value);
  set_notes(notes, node);
}

}  // namespace reverie::proto
