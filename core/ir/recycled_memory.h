#pragma once

#include <memory>

namespace reverie {

/// While it lives, memory of large tensors that its thread frees is kept, up to a bound, for those
/// that the thread makes next: to take pages from the system and give them back takes longer than
/// most operators. For one thread; where there is one already, it does nothing.
class RecycledMemory {
 public:
  RecycledMemory();
  ~RecycledMemory();
  RecycledMemory(const RecycledMemory&) = delete;
  RecycledMemory& operator=(const RecycledMemory&) = delete;

 private:
  std::unique_ptr<class MemoryBlocks> blocks_;  // null where there is another
};

}  // namespace reverie
