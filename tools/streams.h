#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace reverie {

/// Lets an option that names files to read take "-": standard input, which is then a file and read
/// again from its start by whoever opens /dev/stdin.
CLI::Option* takes_standard_input(CLI::Option* option);

/// Lets an option that names a file to write take "-": standard output gets the file at the end,
/// and from `begin_streams` on what is printed goes to standard error.
CLI::Option* takes_standard_output(CLI::Option* option);

/// When all options are read.
void begin_streams();

/// When all went well. InputError where nothing, or more than one file, was written.
void end_streams();

/// As if nothing had been asked for: before another program reads the same command line.
void undo_streams();

/// Tells sentences on standard error, a line each.
void warn(const std::vector<std::string>& sentences);

}  // namespace reverie
