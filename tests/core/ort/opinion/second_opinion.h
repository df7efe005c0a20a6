#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/onnx/import.h"
#include "core/onnx/opset.h"
#include "core/ort/ort_machine.h"
#include "tests/support/temporary_directory.h"

namespace reverie::testing {

/// Runs models through the reference executor and through ONNX Runtime, its optimizer off and on,
/// and keeps account of what came of it.
class SecondOpinion {
 public:
  /// `where` names the case in the account. The runtime runs the file; the reference, what was
  /// imported of it.
  void ask(const std::string& where, const std::filesystem::path& file);
  void ask(const std::string& where, const std::filesystem::path& file,
           const std::vector<NamedTensor>& inputs);
  /// The same for a file that was written from `graph`, which the reference runs, too.
  void ask(const std::string& where, const std::filesystem::path& file, const Graph& graph,
           const std::vector<NamedTensor>& inputs);
  /// Writes the graph at exactly that opset, in that dialect or an earlier one, and asks about that
  /// file. False where it cannot be said there.
  bool ask_at(const std::string& where, const Graph& graph, const proto::Language& language,
              const std::vector<NamedTensor>& inputs);

  int compared() const { return compared_; }
  const std::vector<std::string>& disagreements() const { return disagreements_; }
  /// Why what was not compared was not, with counts.
  std::string account() const;
  void leave_out(const std::string& reason) { ++left_out_[reason]; }
  void disagree(const std::string& what) { disagreements_.push_back(what); }

 private:
  void run_both(const std::string& where, const std::filesystem::path& file,
                const std::vector<NamedTensor>& inputs, const Graph& graph,
                std::span<const Tensor> expected);

  TemporaryDirectory folder_;
  ort::OrtMachine off_{{.threads = 1, .optimize = false}};
  ort::OrtMachine on_{{.threads = 1, .optimize = true}};
  int compared_ = 0;
  std::map<std::string, int> left_out_;
  std::vector<std::string> disagreements_;
};

/// Empty when they agree to 1e-4 of what the tensor's elements measure (1e-2 in half precision),
/// and exactly where they are no floats.
std::string difference(const Tensor& expected, const Tensor& found);

}  // namespace reverie::testing
