#pragma once

#include <CLI/CLI.hpp>
#include <array>
#include <string>
#include <utility>

namespace reverie {

/// Commands that `reverie` leaves to `reverie-learning`, the program beside it that holds LibTorch:
/// to load that takes a second.
struct LearningCommand {
  const char* name;
  const char* what;
  void (*add)(CLI::App&) = nullptr;  ///< null where it is not there
};
inline std::array learning_commands = {
    LearningCommand{"collect", "Play episodes and keep them: INPUT... -> rollouts"},
    LearningCommand{"train_vae", "Train V, from graphs to latents: ROLLOUTS -> encoder.pt"},
    LearningCommand{
        "train_mdnrnn",
        "Train M, what an action does in latent space: ROLLOUTS, encoder.pt -> world.pt"},
    LearningCommand{
        "dream_train",
        "Train a policy in the dream, judged for real: ROLLOUTS, world.pt -> policy.pt"},
    LearningCommand{"evaluate",
                    "Compare a policy with other methods for real: INPUT..., policy.pt -> report"},
    LearningCommand{"place_learn",
                    "Have a published agent learn to place graphs, for `place --method FILE.pt`"},
};

/// In a static initializer of the file that has such a command.
bool add_learning_command(const std::string& name, void (*add)(CLI::App&));

/// What such a command does.
const char* what_of(const std::string& command);

/// Said once in main: the command line.
void remember_arguments(int argc, char** argv);

/// As a person could type it again: "reverie optimize 'my model.onnx'".
std::string command_line();

/// Whether the program that holds LibTorch is another one than this, and beside it.
bool has_learning_program();

/// Runs the command line in that program, in this one's place. InputError where it is not there:
/// `what` needs it.
[[noreturn]] void leave_to_learning_program(const std::string& what);

/// A function of a file that is part of the program with LibTorch alone, which says so in a static
/// initializer. Elsewhere a call leaves the command line to that program.
template <class Function>
class LearningPart;
template <class Result, class... Arguments>
class LearningPart<Result(Arguments...)> {
 public:
  bool is(Result (*part)(Arguments...)) { return (part_ = part) != nullptr; }
  bool is_there() const { return part_ != nullptr; }
  /// `what` needs LibTorch.
  Result operator()(const std::string& what, Arguments... arguments) const {
    if (part_ == nullptr) leave_to_learning_program(what);
    return part_(std::forward<Arguments>(arguments)...);
  }

 private:
  Result (*part_)(Arguments...) = nullptr;
};

}  // namespace reverie
