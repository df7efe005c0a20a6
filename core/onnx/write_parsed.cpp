#include "core/onnx/write_parsed.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/onnx/wire.h"

namespace reverie::proto {
namespace {

using google::protobuf::internal::WireFormatLite;
namespace io = google::protobuf::io;

/// A serialized message: bytes, and behind each of them a range of a file.
class Spliced {
 public:
  int64_t length() const { return length_; }

  void add(std::string_view bytes) {
    if (parts_.empty() || parts_.back().length > 0) parts_.emplace_back();
    parts_.back().bytes += bytes;
    length_ += static_cast<int64_t>(bytes.size());
  }
  void add_range(int64_t offset, int64_t length) {
    add({});
    parts_.back().offset = offset;
    parts_.back().length = length;
    length_ += length;
  }
  void add_all(const Spliced& other) {
    for (const Part& part : other.parts_) {
      add(part.bytes);
      if (part.length > 0) add_range(part.offset, part.length);
    }
  }
  void add_head(int field, int64_t length) {
    std::string head;
    {
      io::StringOutputStream stream(&head);
      io::CodedOutputStream output(&stream);
      output.WriteTag(WireFormatLite::MakeTag(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED));
      output.WriteVarint64(static_cast<uint64_t>(length));
    }
    add(head);
  }

  void write(const InputFile& file, std::ostream& stream) const {
    const auto write_bytes = [&](const void* bytes, int64_t count) {
      stream.write(static_cast<const char*>(bytes), count);
    };
    std::vector<std::byte> buffer(64 << 10);
    for (const Part& part : parts_) {
      write_bytes(part.bytes.data(), std::ssize(part.bytes));
      for (int64_t at = 0; at < part.length; at += std::ssize(buffer)) {
        const int64_t count = std::min(std::ssize(buffer), part.length - at);
        file.read(part.offset + at, std::span(buffer).first(static_cast<size_t>(count)));
        write_bytes(buffer.data(), count);
      }
    }
  }

 private:
  struct Part {
    std::string bytes;
    int64_t offset = 0, length = 0;
  };
  std::vector<Part> parts_;
  int64_t length_ = 0;
};

/// Calls visit(number, field, content) for each field; `content` is that of a message or of bytes.
template <typename Visit>
void for_each_field(std::string_view message, const Visit& visit) {
  io::CodedInputStream input(reinterpret_cast<const uint8_t*>(message.data()),
                             static_cast<int>(message.size()));
  for (int begin = 0;;) {
    const uint32_t tag = input.ReadTag();
    if (tag == 0) return;
    int length = 0;
    const bool is_bytes =
        WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
    REVERIE_CHECK(is_bytes ? input.ReadVarintSizeAsInt(&length) && input.Skip(length)
                           : WireFormatLite::SkipField(&input, tag));
    const int end = input.CurrentPosition();
    visit(WireFormatLite::GetTagFieldNumber(tag),
          message.substr(static_cast<size_t>(begin), static_cast<size_t>(end - begin)),
          message.substr(static_cast<size_t>(end - length), static_cast<size_t>(length)));
    begin = end;
  }
}

/// Puts the data that parse_model left in a file back into what Protobuf makes of the model.
class Restoration {
 public:
  explicit Restoration(std::string location) : location_(std::move(location)) {}

  Spliced model(std::string_view bytes) const {
    return message(bytes, {{onnx::ModelProto::kGraphFieldNumber, &Restoration::graph}});
  }

 private:
  struct Inner {
    int field;
    Spliced (Restoration::*restored)(std::string_view) const;
  };

  Spliced graph(std::string_view bytes) const {
    return message(bytes, {{onnx::GraphProto::kNodeFieldNumber, &Restoration::node},
                           {onnx::GraphProto::kInitializerFieldNumber, &Restoration::tensor}});
  }
  Spliced node(std::string_view bytes) const {
    return message(bytes, {{onnx::NodeProto::kAttributeFieldNumber, &Restoration::attribute}});
  }
  Spliced attribute(std::string_view bytes) const {
    return message(bytes, {{onnx::AttributeProto::kTFieldNumber, &Restoration::tensor}});
  }

  Spliced message(std::string_view bytes, std::initializer_list<Inner> inner) const {
    Spliced result;
    for_each_field(bytes, [&](int number, std::string_view field, std::string_view content) {
      const auto known = std::ranges::find(inner, number, &Inner::field);
      if (known == inner.end()) return result.add(field);
      const Spliced restored = (this->*known->restored)(content);
      result.add_head(number, restored.length());
      result.add_all(restored);
    });
    return result;
  }

  Spliced tensor(std::string_view bytes) const {
    Spliced result;
    onnx::TensorProto tensor;
    REVERIE_CHECK(tensor.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
    auto left = take_data_left(location_, &tensor);
    const auto put_back = [&] {
      result.add_head(left->field, left->length);
      result.add_range(left->offset, left->length);
      left.reset();
    };
    for_each_field(tensor.SerializeAsString(), [&](int number, std::string_view field, auto) {
      if (left && number > left->field) put_back();
      result.add(field);
    });
    if (left) put_back();
    return result;
  }

  std::string location_;
};

}  // namespace

void write_parsed(const onnx::ModelProto& model, const InputFile& file,
                  const std::filesystem::path& path, std::ostream& stream) {
  const Restoration restoration(file.path().filename().string());
  const Spliced whole = restoration.model(model.SerializeAsString());
  require_message(whole.length(), path);
  whole.write(file, stream);
}

}  // namespace reverie::proto
