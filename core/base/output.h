#pragma once

#include <string>
#include <string_view>

namespace reverie {

/// From here on nothing that is printed ends the program or a part of its work, whether standard
/// output and error can be written or not (full, closed, a pipe that nobody reads any more). Call
/// first in main, once. A standard stream that is closed is opened for nothing, so that no file
/// takes its place.
void guard_output();

/// Writes what is left. Why standard output, or some of it, could not be written since
/// guard_output: an error number, 0 when all was.
int finish_output();

/// A message as one line that a person can read: no control characters, words that are very long
/// (names out of a file) and the whole shortened in the middle.
std::string readable(std::string_view message);

}  // namespace reverie
