#include "core/base/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace reverie {
namespace {

using Library = nlohmann::ordered_json;

constexpr size_t kMaxDepth = 100;

/// Makes values of what the library's parser meets. Its functions say whether to go on.
class Reader {
 public:
  bool null() { return put(nullptr); }
  bool boolean(bool value) { return put(value); }
  bool number_integer(int64_t value) { return put(value); }
  bool number_unsigned(uint64_t value) { return put(value); }
  bool number_float(double value, const std::string&) { return put(value); }
  bool string(std::string& value) { return put(std::move(value)); }
  bool binary(Library::binary_t&) { return false; }  // no text has it
  bool start_object(size_t) { return open(Json::Object()); }
  bool start_array(size_t) { return open(Json::Array()); }
  bool key(std::string& name) {
    levels_.back().name = std::move(name);
    return true;
  }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  /// The library counts bytes from 1.
  bool parse_error(size_t byte, const std::string&, const Library::exception& error) {
    std::string_view why = error.what();
    const size_t at = why.find("syntax error");
    why.remove_prefix(at == why.npos ? why.find("] ") + 2 : at);
    why = why.substr(0, why.find("; last read"));
    throw InputError("is no JSON from byte {} on: {}", byte - 1, why);
  }

  Json result;

 private:
  struct Level {
    Json list;
    Json::Array elements;  ///< of an array
    std::string name;      ///< of an object's next member
  };

  bool put(Json value) {
    if (levels_.empty()) {
      result = std::move(value);
    } else if (levels_.back().list.is_object()) {
      levels_.back().list[levels_.back().name] = std::move(value);
    } else {
      levels_.back().elements.push_back(std::move(value));
    }
    return true;
  }
  bool open(Json list) {
    if (levels_.size() == kMaxDepth)
      throw InputError("has too many levels of JSON: {} at most", kMaxDepth);
    levels_.push_back({std::move(list), {}, {}});
    return true;
  }
  bool close() {
    Level level = std::move(levels_.back());
    levels_.pop_back();
    if (level.list.is_array()) level.list = std::move(level.elements);
    return put(std::move(level.list));
  }

  std::vector<Level> levels_;
};

Library library_value(const Json& json) {
  Library result;
  json.visit([&]<typename T>(const T& value) {
    if constexpr (std::same_as<T, Json::Array>) {
      result = Library::array();
      for (const Json& element : value) result.push_back(library_value(element));
    } else if constexpr (std::same_as<T, Json::Object>) {
      result = Library::object();
      for (const Json::Member& member : value) result[member.name] = library_value(member.value);
    } else if constexpr (!std::same_as<T, std::monostate>) {
      result = value;
    }
  });
  return result;
}

}  // namespace

Json Json::parse(std::string_view text) {
  Reader reader;
  Library::sax_parse(text, &reader);
  return std::move(reader.result);
}

std::string Json::dump(int indent) const {
  return library_value(*this).dump(indent, ' ', false, Library::error_handler_t::replace);
}

const Json::Array& Json::array() const {
  if (!is_array()) refuse("an array");
  return std::get<Array>(value_);
}

const Json::Object& Json::object() const {
  if (!is_object()) refuse("an object");
  return std::get<Object>(value_);
}

const Json* Json::find(std::string_view name) const {
  const auto found = std::ranges::find(object(), name, &Member::name);
  return found == object().end() ? nullptr : &found->value;
}

const Json& Json::at(std::string_view name) const {
  if (const Json* found = find(name)) return *found;
  throw InputError("there is no '{}'", name);
}

Json& Json::operator[](std::string_view name) {
  if (is_null()) value_ = Object();
  if (!is_object()) refuse("an object");
  auto& members = std::get<Object>(value_);
  const auto found = std::ranges::find(members, name, &Member::name);
  if (found != members.end()) return found->value;
  return members.emplace_back(std::string(name), Json()).value;
}

void Json::refuse(std::string_view wanted) const {
  constexpr size_t kShown = 40;
  throw InputError("{} must be {}", dump().substr(0, kShown), wanted);
}

}  // namespace reverie
