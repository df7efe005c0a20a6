#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/base/files.h"
#include "tests/support/temporary_directory.h"

/// Readers of files, shown bytes that may be anything. They may refuse them by InputError; whatever
/// else comes of them is a fault. tests/fuzz.sh runs them under libFuzzer, fuzz_test.cpp on the
/// files below corpus/.
namespace reverie::fuzz {

void read_onnx(std::string_view bytes);
void read_rules(std::string_view bytes);
void read_config(std::string_view bytes);
void read_graph_json(std::string_view bytes);
void read_devices(std::string_view bytes);
void read_network(std::string_view bytes);
void read_table_json(std::string_view bytes);
void read_rollouts(std::string_view bytes);
void read_costs(std::string_view bytes);
void read_arrays(std::string_view bytes);
void read_taso(std::string_view bytes);

struct Target {
  std::string_view name;  ///< also that of its folder in corpus/
  void (*read)(std::string_view bytes);
};

inline constexpr Target kTargets[] = {{"onnx", read_onnx},
                                      {"rules", read_rules},
                                      {"config", read_config},
                                      {"graph_json", read_graph_json},
                                      {"devices", read_devices},
                                      {"network", read_network},
                                      {"table_json", read_table_json},
                                      {"rollouts", read_rollouts},
                                      {"costs", read_costs},
                                      {"arrays", read_arrays},
                                      {"taso", read_taso}};

/// The bytes as a file of that name, for readers that take a path; the same at each call.
inline std::string as_file(const std::string& name, std::string_view bytes) {
  static const TemporaryDirectory folder;
  const std::string path = folder / name;
  write_file(path, bytes);
  return path;
}

}  // namespace reverie::fuzz
