#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "core/base/files.h"
#include "tests/support/temporary_directory.h"

namespace reverie::testing {

inline bool has_node() { return std::system("node --version >/dev/null 2>&1") == 0; }

/// A folder as npm leaves it, with a package of the runtime's name that does what a model's file
/// name says: it refuses, crashes or hangs, or else echoes its inputs.
class FakeRuntime {
 public:
  FakeRuntime() {
    const std::filesystem::path package = folder_ / "node_modules/onnxruntime-node";
    std::filesystem::create_directories(package);
    write_file(package / "package.json", R"({"name": "onnxruntime-node", "version": "0.0.1"})");
    write_file(package / "index.js", R"(
      class Tensor { constructor(type, data, dims) { Object.assign(this, { type, data, dims }); } }
      const create = async (model) => {
        if (model.includes("refused")) throw new Error("no such operator");
        return {
          run: async (feeds) => {
            if (model.includes("crash")) process.kill(process.pid, "SIGSEGV");
            if (model.includes("status")) { console.error("out of luck\n"); process.exit(3); }
            if (model.includes("hang")) for (;;);
            return feeds;
          },
          release: async () => {},
        };
      };
      module.exports = { Tensor, InferenceSession: { create } };)");
  }
  std::filesystem::path folder() const { return folder_.path(); }

 private:
  TemporaryDirectory folder_;
};

}  // namespace reverie::testing
