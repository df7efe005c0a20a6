#pragma once

#include <memory>
#include <string>

#include "datasets/collect.h"

namespace reverie {

/// An agent as a TorchScript file, as torch.jit.script(module).save(path) writes it.
///
/// Its forward takes one state as a dictionary of tensors: those of a batch of one graph in Python
/// (reverie.Graph), without `action_mask`. It returns scores, float [valid], one for each row of
/// `actions`; or a tuple that begins with them. Actions are drawn by the softmax of the scores.
///
/// Forks share the module and may play in several threads. InputError, naming the file, when it
/// holds no such module, when forward fails, and when the scores are not finite or of another size.
std::unique_ptr<CollectAgent> load_script_agent(const std::string& path);

}  // namespace reverie
