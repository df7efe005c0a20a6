#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/random.h"

namespace reverie::testing {

/// Changes serialised ONNX models at random so that they stay well-formed messages: fields go, come
/// twice, change places, take the value of another field of their kind, or another number. Equal
/// seeds give equal changes.
class ModelMutator {
 public:
  explicit ModelMutator(uint64_t seed) : rng_(seed) {}

  std::string mutated(const std::string& model, int changes) {
    Message root = parse(model, kModel);
    for (int i = 0; i < changes; ++i) {
      all_.clear();
      collect(&root);
      change();
    }
    return serialised(root);
  }

 private:
  // Messages of onnx.proto in which something lies that the reader looks at.
  enum Kind {
    kLeaf,
    kModel,
    kGraph,
    kNode,
    kAttribute,
    kTensor,
    kSparse,
    kValueInfo,
    kType,
    kTensorType,
    kShape,
    kDimension,
    kSequence,
    kMap,
    kFunction,
    kImport,
    kEntry
  };

  struct Message;
  struct Field {
    int number;
    int wire;
    uint64_t varint = 0;              // wire 0
    std::string bytes = {};           // wire 1, 5, and leaves of wire 2
    std::vector<Message> inner = {};  // one, where it is a message
  };
  struct Message {
    Kind kind;
    std::vector<Field> fields = {};
  };

  static Kind kind_of(Kind outer, int number) {
    static const std::map<std::pair<Kind, int>, Kind> kinds = {
        {{kModel, 7}, kGraph},      {{kModel, 8}, kImport},      {{kModel, 25}, kFunction},
        {{kModel, 14}, kEntry},     {{kGraph, 1}, kNode},        {{kGraph, 5}, kTensor},
        {{kGraph, 11}, kValueInfo}, {{kGraph, 12}, kValueInfo},  {{kGraph, 13}, kValueInfo},
        {{kGraph, 15}, kSparse},    {{kNode, 5}, kAttribute},    {{kAttribute, 5}, kTensor},
        {{kAttribute, 6}, kGraph},  {{kAttribute, 10}, kTensor}, {{kAttribute, 11}, kGraph},
        {{kAttribute, 14}, kType},  {{kAttribute, 22}, kSparse}, {{kTensor, 13}, kEntry},
        {{kSparse, 1}, kTensor},    {{kSparse, 2}, kTensor},     {{kValueInfo, 2}, kType},
        {{kType, 1}, kTensorType},  {{kType, 4}, kSequence},     {{kType, 5}, kMap},
        {{kTensorType, 2}, kShape}, {{kShape, 1}, kDimension},   {{kSequence, 1}, kType},
        {{kMap, 2}, kType},         {{kFunction, 7}, kNode},     {{kFunction, 9}, kImport}};
    const auto at = kinds.find({outer, number});
    return at == kinds.end() ? kLeaf : at->second;
  }

  static uint64_t read_varint(const std::string& text, size_t* at) {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(text.at((*at)++));
      value |= static_cast<uint64_t>(byte & 127) << shift;
      if (byte < 128) return value;
    }
  }

  static Message parse(const std::string& text, Kind kind) {
    Message message = {kind};
    for (size_t at = 0; at < text.size();) {
      const uint64_t tag = read_varint(text, &at);
      Field& field =
          message.fields.emplace_back(Field{static_cast<int>(tag >> 3), static_cast<int>(tag & 7)});
      if (field.wire == 0) {
        field.varint = read_varint(text, &at);
        continue;
      }
      const size_t size = field.wire == 2 ? read_varint(text, &at) : field.wire == 5 ? 4 : 8;
      field.bytes = text.substr(at, size);
      at += size;
      const Kind inner = field.wire == 2 ? kind_of(kind, field.number) : kLeaf;
      if (inner != kLeaf) field.inner.push_back(parse(field.bytes, inner));
    }
    return message;
  }

  static void append_varint(uint64_t value, std::string* text) {
    for (; value >= 128; value >>= 7) *text += static_cast<char>(value | 128);
    *text += static_cast<char>(value);
  }

  static std::string serialised(const Message& message) {
    std::string text;
    for (const Field& field : message.fields) {
      append_varint(static_cast<uint64_t>(field.number) << 3 | static_cast<uint64_t>(field.wire),
                    &text);
      if (field.wire == 0) append_varint(field.varint, &text);
      const std::string bytes = field.inner.empty() ? field.bytes : serialised(field.inner[0]);
      if (field.wire == 2) append_varint(bytes.size(), &text);
      text += bytes;
    }
    return text;
  }

  struct Place {
    Message* message;
    size_t field;
  };

  void collect(Message* message) {
    for (size_t i = 0; i < message->fields.size(); ++i) {
      all_.push_back({message, i});
      for (Message& inner : message->fields[i].inner) collect(&inner);
    }
  }

  void change() {
    if (all_.empty()) return;
    const Place place = all_[rng_.below(all_.size())];
    std::vector<Field>& fields = place.message->fields;
    const auto at = fields.begin() + static_cast<ptrdiff_t>(place.field);
    switch (rng_.below(6)) {
      case 0:
        fields.erase(at);
        break;
      case 1:
        fields.push_back(Field(*at));
        break;
      case 2:
        std::swap(*at, fields[rng_.below(fields.size())]);
        break;
      case 3:
      case 4:
        *at = Field(another_like(place));
        break;
      default:
        change_value(&*at);
    }
  }

  /// Of a field of the same kind of message and number, if there is another.
  const Field& another_like(const Place& place) {
    const Field& field = place.message->fields[place.field];
    std::vector<const Field*> alike;
    for (const Place& other : all_) {
      const Field& candidate = other.message->fields[other.field];
      const bool is_name = field.wire == 2 && field.inner.empty() && candidate.wire == 2 &&
                           candidate.inner.empty() && place.message->kind == other.message->kind &&
                           place.message->kind == kNode;
      const bool is_alike =
          place.message->kind == other.message->kind && candidate.number == field.number;
      if (is_alike || is_name) alike.push_back(&candidate);
    }
    if (alike.empty()) return field;
    changed_ = *alike[rng_.below(alike.size())];
    changed_.number = field.number;
    return changed_;
  }

  void change_value(Field* field) {
    constexpr uint64_t kNumbers[] = {0,
                                     1,
                                     2,
                                     3,
                                     7,
                                     8,
                                     16,
                                     22,
                                     127,
                                     1 << 16,
                                     1U << 31,
                                     uint64_t{1} << 40,
                                     uint64_t{1} << 62,
                                     ~uint64_t{0},
                                     ~uint64_t{0} - 1,
                                     uint64_t{1} << 63};
    if (field->wire == 0) field->varint = kNumbers[rng_.below(std::size(kNumbers))];
    if (!field->inner.empty())
      field->inner[0].fields.clear();
    else if (field->wire != 0 && !field->bytes.empty())
      field->bytes[rng_.below(field->bytes.size())] = static_cast<char>(rng_.bits());
  }

  Rng rng_;
  std::vector<Place> all_;
  Field changed_ = {};
};

}  // namespace reverie::testing
