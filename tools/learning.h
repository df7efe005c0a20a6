#pragma once

#include <array>
#include <string>

namespace reverie {

/// Commands that `reverie` leaves to `reverie-learning`, the program beside it that holds LibTorch:
/// to load that takes a second.
struct LearningCommand {
  const char* name;
  const char* what;
};
inline constexpr std::array kLearningCommands = {
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

}  // namespace reverie
