#include "core/rulekit/generate/checkpoint.h"

#include <cstring>

#include "core/base/crc32c.h"
#include "core/base/error.h"
#include "core/base/files.h"

namespace reverie::generate {
namespace {

constexpr char kMagic[] = "reverie generate 4\n";

void put(std::string& bytes, const void* data, size_t size) {
  bytes.append(static_cast<const char*>(data), size);
}

class Reader {
 public:
  Reader(const std::string& path, const std::string& bytes) : path_(path), bytes_(bytes) {}
  const char* take(size_t size) {
    if (size > bytes_.size() - at_)
      throw InputError(
          "'{}' is no checkpoint of rules generate, or damaged: remove it to begin anew", path_);
    at_ += size;
    return bytes_.data() + at_ - size;
  }
  uint64_t number() {
    uint64_t value = 0;
    std::memcpy(&value, take(sizeof value), sizeof value);
    return value;
  }
  size_t at() const { return at_; }

 private:
  const std::string& path_;
  const std::string& bytes_;
  size_t at_ = 0;
};

void put(std::string& bytes, const Candidate& candidate) {
  const uint32_t words[] = {
      candidate.application.op, candidate.application.a, candidate.application.b, candidate.value,
      candidate.first.op,       candidate.first.a,       candidate.first.b};
  put(bytes, words, sizeof words);
}

Candidate take_candidate(Reader& reader) {
  uint32_t words[7];
  std::memcpy(words, reader.take(sizeof words), sizeof words);
  return {{static_cast<uint8_t>(words[0]), words[1], words[2]},
          words[3],
          {static_cast<uint8_t>(words[4]), words[5], words[6]}};
}

void put(std::string& bytes, const Identity& identity) {
  const uint64_t head[] = {identity.nodes.size(), identity.left.size(),
                           static_cast<uint64_t>(identity.variables), identity.is_sayable,
                           identity.is_accepted};
  put(bytes, head, sizeof head);
  put(bytes, identity.nodes.data(), identity.nodes.size() * sizeof(Identity::Node));
  for (const std::vector<int>* roots : {&identity.left, &identity.right})
    put(bytes, roots->data(), roots->size() * sizeof(int));
}

Identity take_identity(Reader& reader) {
  Identity identity;
  const uint64_t nodes = reader.number(), outputs = reader.number();
  identity.variables = static_cast<int>(reader.number());
  identity.is_sayable = reader.number() != 0;
  identity.is_accepted = reader.number() != 0;
  const auto fill = [&](auto& list, uint64_t count) {
    const size_t size = count * sizeof list[0];
    const char* bytes = reader.take(count < (uint64_t{1} << 20) ? size : ~size_t{0});
    list.resize(count);
    std::memcpy(list.data(), bytes, size);
  };
  fill(identity.nodes, nodes);
  fill(identity.left, outputs);
  fill(identity.right, outputs);
  return identity;
}

}  // namespace

void write_checkpoint(const std::string& path, const std::string& options,
                      const Checkpoint& state) {
  std::string bytes = kMagic;
  const uint64_t head[] = {options.size(),          state.parts,
                           state.counts.graphs,     state.counts.values,
                           state.counts.pairs,      state.candidates.size(),
                           state.considered,        state.pruned.follows,
                           state.pruned.unequal,    state.pruned.repeated,
                           state.identities.size(), state.unproved.size()};
  put(bytes, head, sizeof head);
  bytes += options;
  for (const Candidate& candidate : state.candidates) put(bytes, candidate);
  for (const Identity& identity : state.identities) put(bytes, identity);
  for (const Application& application : state.unproved)
    put(bytes, Candidate{application, kNoValue, {}});
  const uint32_t sum = crc32c(bytes);
  put(bytes, &sum, sizeof sum);
  write_file(path, bytes);
}

std::optional<Checkpoint> read_checkpoint(const std::string& path, const std::string& options) {
  if (!file_exists(path)) return {};
  const std::string bytes = read_file(path);
  Reader reader(path, bytes);
  const std::string magic(reader.take(std::strlen(kMagic)), std::strlen(kMagic));
  const uint64_t length = magic == kMagic ? reader.number() : ~uint64_t{0};
  Checkpoint state;
  state.parts = reader.number();
  state.counts = {reader.number(), reader.number(), reader.number()};
  const uint64_t count = reader.number();
  state.considered = reader.number();
  state.pruned = {reader.number(), reader.number(), reader.number()};
  const uint64_t identities = reader.number(), unproved = reader.number();
  const std::string made_for(reader.take(length), length);
  if (made_for != options)
    throw InputError(
        "'{}' is a checkpoint of '{}', not of '{}': give the same options, or remove it", path,
        made_for, options);
  reader.take(count > bytes.size() ? bytes.size() : 0);
  for (uint64_t i = 0; i < count; ++i) state.candidates.push_back(take_candidate(reader));
  for (uint64_t i = 0; i < identities; ++i) state.identities.push_back(take_identity(reader));
  for (uint64_t i = 0; i < unproved; ++i)
    state.unproved.push_back(take_candidate(reader).application);
  uint32_t sum = 0;
  const size_t end = reader.at();
  std::memcpy(&sum, reader.take(sizeof sum), sizeof sum);
  if (sum != crc32c(std::string_view(bytes).substr(0, end))) reader.take(bytes.size());
  return state;
}

}  // namespace reverie::generate
