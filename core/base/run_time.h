#pragma once

#include <string>

#include "core/base/stopwatch.h"

namespace reverie {

/// Seconds that a run takes, those before it was stopped and resumed too. Kept in
/// `directory`/seconds, a file of its own, as all else that a run writes follows from its seed.
class RunTime {
 public:
  /// `before`: seconds that went before it and count as its own.
  explicit RunTime(const std::string& directory, double before = 0);

  /// Goes on from what was kept, if anything was. InputError where that is no number.
  void resume();
  void keep() const;
  double seconds() const { return before_ + watch_.seconds(); }

 private:
  std::string path_;
  double before_;
  Stopwatch watch_;
};

}  // namespace reverie
