#pragma once

#include <memory>
#include <string>

#include "env/environment.h"

namespace reverie {

/// The environment as one sees it who knows it by the names of `known`, such as a policy, to be
/// reset before use: node types, feature columns, actions and targets stand in the order of
/// `known`, whatever theirs is. Actions that `known` lacks are not offered, and features do not
/// speak of them; node types that it lacks are its `other_type`. Counts are cut at its
/// `max_choices`. Starts, horizon, metrics and source stay those of the environment.
///
/// InputError when the environment has another name or objective, or lacks something that `known`
/// names. The same when a state holds a node type that `known` lacks and it has no `other_type`.
std::unique_ptr<Environment> translated(std::unique_ptr<Environment> environment,
                                        const EnvSpec& known);

/// The InputError of `translated`, without an environment.
void require_names(const EnvSpec& known, const EnvSpec& real);

/// InputError when the names that networks depend on are not the same, in the same order: data and
/// checkpoints that are trained on together.
void require_same_names(const EnvSpec& known, const EnvSpec& real);

/// One line that names the actions of `real` which `known` lacks; empty where there are none.
std::string unknown_actions(const EnvSpec& known, const EnvSpec& real);

}  // namespace reverie
