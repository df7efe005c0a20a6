#include "core/onnx/wire.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <ostream>
#include <span>
#include <string>

#include "core/base/error.h"

namespace reverie::proto {
namespace {

using google::protobuf::MessageLite;
using google::protobuf::internal::WireFormatLite;
namespace io = google::protobuf::io;

/// Reads from the start of a file, and passes over what is skipped.
class FileStream : public io::CopyingInputStream {
 public:
  explicit FileStream(const InputFile& file) : file_(file) {}

  int Read(void* buffer, int size) override {
    const int64_t count = std::min<int64_t>(size, file_.size() - at_);
    file_.read(at_, {static_cast<std::byte*>(buffer), static_cast<size_t>(count)});
    at_ += count;
    return static_cast<int>(count);
  }
  int Skip(int count) override {
    const int64_t skipped = std::min<int64_t>(count, file_.size() - at_);
    at_ += skipped;
    return static_cast<int>(skipped);
  }

 private:
  const InputFile& file_;
  int64_t at_ = 0;
};

constexpr uint32_t message_tag(int field) {
  return WireFormatLite::MakeTag(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
}

bool holds_other_data(const onnx::TensorProto& tensor) {
  return tensor.data_location() == onnx::TensorProto::EXTERNAL || tensor.has_raw_data() ||
         tensor.has_segment() ||
         tensor.float_data_size() + tensor.int32_data_size() + tensor.string_data_size() +
                 tensor.int64_data_size() + tensor.double_data_size() + tensor.uint64_data_size() >
             0;
}

/// Entries of external data that say what parse_model left in the file: the field that it is, and
/// that the tensor itself said where its data lie.
constexpr char kField[] = "reverie.field", kSaidDefault[] = "reverie.said_default";

void set_entry(const std::string& key, const std::string& value, onnx::TensorProto* tensor) {
  auto* entry = tensor->add_external_data();
  entry->set_key(key);
  entry->set_value(value);
}

class Parser {
 public:
  explicit Parser(const InputFile& file)
      : file_(file), stream_(file), adaptor_(&stream_, kBuffer), input_(&adaptor_) {
    input_.SetTotalBytesLimit(static_cast<int>(kLargestMessage));
  }

  bool parse(onnx::ModelProto* model) {
    input_.PushLimit(static_cast<int>(file_.size()));
    return fields(model, [&](uint32_t tag) {
      if (tag != message_tag(onnx::ModelProto::kGraphFieldNumber)) return Field::kOther;
      return inside([&] { return graph(model->mutable_graph()); });
    });
  }

 private:
  enum class Field { kRead, kWrong, kOther };

  /// Reads a message up to the limit. `read` takes the fields that it knows; the message gets the
  /// others as they are.
  template <typename Read>
  bool fields(MessageLite* message, Read read) {
    std::string others;
    {
      io::StringOutputStream stream(&others);
      io::CodedOutputStream output(&stream);
      while (const uint32_t tag = input_.ReadTag()) {
        const Field field = read(tag);
        if (field == Field::kWrong) return false;
        if (field == Field::kOther && !WireFormatLite::SkipField(&input_, tag, &output))
          return false;
      }
    }
    return input_.BytesUntilLimit() == 0 && message->MergeFromString(others);
  }

  /// A length that lies within what is read.
  bool read_length(int* length) {
    return input_.ReadVarintSizeAsInt(length) && *length <= input_.BytesUntilLimit();
  }

  template <typename Read>
  Field inside(Read read) {
    int length = 0;
    if (!read_length(&length)) return Field::kWrong;
    const auto limit = input_.PushLimit(length);
    const bool right = read();
    input_.PopLimit(limit);
    return right ? Field::kRead : Field::kWrong;
  }

  bool graph(onnx::GraphProto* graph) {
    return fields(graph, [&](uint32_t tag) {
      if (tag == message_tag(onnx::GraphProto::kNodeFieldNumber))
        return inside([&] { return node(graph->add_node()); });
      if (tag == message_tag(onnx::GraphProto::kInitializerFieldNumber))
        return inside([&] { return tensor(graph->add_initializer()); });
      return Field::kOther;
    });
  }

  bool is_small() const { return input_.BytesUntilLimit() <= kLargestParsed; }
  bool whole(MessageLite* message) {
    return message->MergePartialFromCodedStream(&input_) && input_.BytesUntilLimit() == 0;
  }

  bool node(onnx::NodeProto* node) {
    if (is_small()) return whole(node);
    return fields(node, [&](uint32_t tag) {
      if (tag != message_tag(onnx::NodeProto::kAttributeFieldNumber)) return Field::kOther;
      return inside([&] { return attribute(node->add_attribute()); });
    });
  }

  bool attribute(onnx::AttributeProto* attribute) {
    return fields(attribute, [&](uint32_t tag) {
      if (tag != message_tag(onnx::AttributeProto::kTFieldNumber)) return Field::kOther;
      return inside([&] { return tensor(attribute->mutable_t()); });
    });
  }

  /// Bytes of the file; nowhere where there are none.
  struct Range {
    int offset = 0, length = 0;
  };

  Field pass_over(Range* range) {
    if (!read_length(&range->length)) return Field::kWrong;
    range->offset = input_.CurrentPosition();
    return input_.Skip(range->length) ? Field::kRead : Field::kWrong;
  }

  bool tensor(onnx::TensorProto* tensor) {
    if (is_small()) return whole(tensor);
    Range raw, floats;
    const bool right = fields(tensor, [&](uint32_t tag) {
      if (tag == message_tag(onnx::TensorProto::kRawDataFieldNumber)) return pass_over(&raw);
      const bool is_floats = tag == message_tag(onnx::TensorProto::kFloatDataFieldNumber);
      return is_floats && floats.offset == 0 ? pass_over(&floats) : Field::kOther;
    });
    if (!right || floats.length % static_cast<int>(sizeof(float)) != 0) return false;
    if (floats.offset > 0) set_floats(floats, raw.offset == 0, tensor);
    if (raw.offset > 0) set_raw(raw, tensor);
    return true;
  }

  void set_raw(const Range& range, onnx::TensorProto* tensor) const {
    const bool is_number = size_of(dtype_of(tensor->data_type())) > 0;
    if (is_number && may_leave(range, *tensor))
      return leave(range, onnx::TensorProto::kRawDataFieldNumber, tensor);
    std::string& data = *tensor->mutable_raw_data();
    data.resize(static_cast<size_t>(range.length));
    file_.read(range.offset, std::as_writable_bytes(std::span(data)));
  }

  /// Packed floats have the bytes of raw ones.
  void set_floats(const Range& range, bool is_alone, onnx::TensorProto* tensor) const {
    const bool is_float = tensor->data_type() == onnx::TensorProto::FLOAT;
    if (is_alone && is_float && may_leave(range, *tensor))
      return leave(range, onnx::TensorProto::kFloatDataFieldNumber, tensor);
    google::protobuf::RepeatedField<float> floats;
    floats.Resize(range.length / static_cast<int>(sizeof(float)), 0);
    const std::span all(floats.mutable_data(), static_cast<size_t>(floats.size()));
    file_.read(range.offset, std::as_writable_bytes(all));
    floats.MergeFrom(tensor->float_data());
    tensor->mutable_float_data()->Swap(&floats);
  }

  static bool may_leave(const Range& range, const onnx::TensorProto& tensor) {
    return range.length > kLargestParsed && !holds_other_data(tensor);
  }

  void leave(const Range& range, int field, onnx::TensorProto* tensor) const {
    const bool said_default = tensor->has_data_location();
    set_external(file_.path().filename().string(), range.offset, range.length, tensor);
    set_entry(kField, std::to_string(field), tensor);
    if (said_default) set_entry(kSaidDefault, "", tensor);
  }

  static constexpr int kBuffer = 64 << 10;  // bytes
  const InputFile& file_;
  FileStream stream_;
  io::CopyingInputStreamAdaptor adaptor_;
  io::CodedInputStream input_;
};

/// Bytes of a field of so many bytes, whose number is below 16.
int64_t field_bytes(int64_t length) {
  return 1 +
         static_cast<int64_t>(io::CodedOutputStream::VarintSize64(static_cast<uint64_t>(length))) +
         length;
}

int64_t bytes_of(const MessageLite& message) {
  return static_cast<int64_t>(message.ByteSizeLong());
}

int64_t bytes_of(const LargeTensor& tensor) {
  return bytes_of(tensor.declaration) + field_bytes(tensor.weight->type().bytes());
}

void write_field(int field, int64_t length, io::CodedOutputStream& output) {
  output.WriteTag(message_tag(field));
  output.WriteVarint32(static_cast<uint32_t>(length));
}

void write_initializer(const LargeTensor& tensor, io::CodedOutputStream& output) {
  write_field(onnx::GraphProto::kInitializerFieldNumber, bytes_of(tensor), output);
  tensor.declaration.SerializeToCodedStream(&output);
  write_field(onnx::TensorProto::kRawDataFieldNumber, tensor.weight->type().bytes(), output);
  tensor.weight->visit_bytes([&](std::span<const std::byte> piece) {
    output.WriteRaw(piece.data(), static_cast<int>(piece.size()));
  });
}

}  // namespace

onnx::ModelProto parse_model(const InputFile& file) {
  if (file.size() > kLargestMessage)
    throw InputError(
        "is larger than 2 GiB, which protobuf cannot read; save its weights as external data");
  const google::protobuf::LogSilencer no_second_message;
  onnx::ModelProto model;
  if (file.size() == 0 || !Parser(file).parse(&model))
    throw InputError("is no ONNX model (or a truncated one)");
  if (!model.has_graph()) throw InputError("is no ONNX model: it holds no graph");
  return model;
}

std::optional<DataLeft> take_data_left(const std::string& location, onnx::TensorProto* tensor) {
  auto* entries = tensor->mutable_external_data();
  int end = entries->size();
  const bool said_default = end > 0 && entries->Get(end - 1).key() == kSaidDefault;
  if (said_default) --end;
  constexpr int kOwn = 4;  // location, offset, length, field
  if (end < kOwn || entries->Get(end - 1).key() != kField ||
      entries->Get(end - kOwn).value() != location)
    return std::nullopt;
  const auto number = [&](int at) { return std::atoll(entries->Get(at).value().c_str()); };
  const DataLeft left{static_cast<int>(number(end - 1)), number(end - 3), number(end - 2)};
  entries->DeleteSubrange(end - kOwn, entries->size() - end + kOwn);
  tensor->clear_data_location();
  if (said_default) tensor->set_data_location(onnx::TensorProto::DEFAULT);
  return left;
}

void require_message(int64_t bytes, const std::filesystem::path& path) {
  if (bytes > kLargestMessage)
    throw InputError(
        "{}: cannot be written: a model holds 2 GiB at most beside weights that lie in a file "
        "of their own",
        path.string());
}

void set_external(const std::string& location, int64_t offset, int64_t length,
                  onnx::TensorProto* tensor) {
  tensor->set_data_location(onnx::TensorProto::EXTERNAL);
  set_entry("location", location, tensor);
  set_entry("offset", std::to_string(offset), tensor);
  set_entry("length", std::to_string(length), tensor);
}

void write_model(onnx::ModelProto model, const std::vector<LargeTensor>& tensors,
                 const std::filesystem::path& path, std::ostream& stream) {
  const std::unique_ptr<onnx::GraphProto> graph(model.release_graph());
  int64_t graph_bytes = bytes_of(*graph);
  for (const LargeTensor& tensor : tensors) graph_bytes += field_bytes(bytes_of(tensor));
  require_message(bytes_of(model) + field_bytes(graph_bytes), path);
  io::OstreamOutputStream buffer(&stream);
  io::CodedOutputStream output(&buffer);
  bool written = model.SerializeToCodedStream(&output);
  write_field(onnx::ModelProto::kGraphFieldNumber, graph_bytes, output);
  written = written && graph->SerializeToCodedStream(&output);
  for (const LargeTensor& tensor : tensors) write_initializer(tensor, output);
  output.Trim();
  if (!written || output.HadError()) stream.setstate(std::ios::failbit);
}

}  // namespace reverie::proto
