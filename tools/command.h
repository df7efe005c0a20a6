#pragma once

#include <CLI/CLI.hpp>
#include <stdexcept>

#include "core/base/version.h"

namespace reverie {

/// All is right that a person gave, and there is no answer to it: one sentence, and exit status 1.
class NoAnswer : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// One subcommand per file: `register_<name>` adds it to `app` with its options and a callback that
/// parses them, calls one library function and prints. main.cpp lists them all, but
/// for those that need LibTorch (tools/learning.h).
void register_adapt(CLI::App& app);
void register_compare(CLI::App& app);
void register_completion(CLI::App& app);  ///< after all others
void register_inspect(CLI::App& app);
void register_model(CLI::App& app);
void register_optimize(CLI::App& app);
void register_place(CLI::App& app);
void register_profile(CLI::App& app);
void register_rules(CLI::App& app);
void register_rules_generate(CLI::App& group);  ///< in the group `rules`
void register_rules_verify(CLI::App& group);    ///< likewise
void register_rules_compare(CLI::App& group);   ///< in the group `rules`
void register_rules_apply(CLI::App& group);     ///< likewise
void register_summarize(CLI::App& app);
void register_version(CLI::App& app);

}  // namespace reverie
