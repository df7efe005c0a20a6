#include "env/rewrite/optimize/optimize.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <map>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/json.h"
#include "core/onnx/import.h"
#include "core/rules/no_cost.h"
#include "env/rewrite/optimize/applied_rewrites.h"
#include "env/rewrite/optimize/file_cost.h"
#include "env/rewrite/optimize/method.h"
#include "env/rewrite/optimize/write_result.h"
#include "env/rewrite/optimize/written_costs.h"
#include "tools/command.h"
#include "tools/common.h"
#include "tools/contenders.h"
#include "tools/extents.h"
#include "tools/help.h"
#include "tools/inputs.h"
#include "tools/interrupt.h"
#include "tools/learning.h"
#include "tools/measured.h"
#include "tools/optimize_output.h"
#include "tools/optimize_report.h"
#include "tools/policy_search.h"
#include "tools/streams.h"

namespace reverie {
namespace {

struct OptimizeArguments {
  std::string model;
  std::string out;
  std::vector<std::string> config_files;
  std::vector<std::string> overrides;
  std::vector<std::pair<std::string, std::string>> given;  ///< keys with an option of their own
  std::vector<std::string> rule_files;
  std::vector<std::string> rules_left_out;
  ImportOptions extents;
  std::string policy;
  std::string contenders_folder;
  std::string fit_out;
  std::string report;
  GivenInputs given_inputs;
  bool confirm = false;
  bool fix_shapes = false;
  bool no_metadata = false;
  bool list_untouched = false;
  bool json = false;
  bool quiet = false;
};

struct OptimizeSettings : OptimizeConfig {
  GuidedSearchOptions policy;
  ConfigSections learned = learned_methods;

  template <class V>
  void fields(V& v) {
    OptimizeConfig::fields(v);
    v.section("policy", policy, "How a policy searches (policy)");
    learned.fields(v);
  }
};

/// An option that is a configuration key by another name; it overrides files and --set.
void add_key(CLI::App& command, const std::shared_ptr<OptimizeArguments>& options,
             const std::string& flag, const std::string& key, const std::string& help) {
  command.add_option_function<std::string>(
      flag, [options, key](const std::string& value) { options->given.emplace_back(key, value); },
      help);
}

/// Costs are those that the policy was trained with, where nothing else is said.
OptimizeSettings resolve(const OptimizeArguments& options, const std::string& trained_cost) {
  OptimizeSettings config;
  if (!trained_cost.empty()) config.cost = trained_cost;
  ConfigFields fields(config);
  for (const std::string& file : options.config_files) fields.load_file(file);
  for (const std::string& assignment : options.overrides) fields.set(assignment);
  for (const auto& [key, value] : options.given) fields.set_value(key, value);
  config.confirm = config.confirm || options.confirm;
  config.fix_shapes = options.fix_shapes;
  settle_automatic(config);
  return config;
}

/// The same; settings and methods that need LibTorch are left to the program that knows them.
OptimizeSettings resolve_or_leave(const OptimizeArguments& options,
                                  const std::string& trained_cost) {
  try {
    OptimizeSettings config = resolve(options, trained_cost);
    const bool is_learned = config.method == "policy" || config.method == "ppo";
    if (is_learned && has_learning_program())
      leave_to_learning_program("--method " + config.method);
    return config;
  } catch (const InputError&) {
    if (has_learning_program()) leave_to_learning_program("a setting");
    throw;
  }
}

std::string method_names() {
  std::vector<std::string> names;
  for (const Solver* solver : solvers_for("rewrite")) names.push_back(solver->name());
  return fmt::format("{}", fmt::join(names, ", "));
}

/// "expansions (beam, taso), rollouts (mcts), ...".
std::string budget_units() {
  std::map<std::string, std::vector<std::string>> names;
  for (const Solver* solver : solvers_for("rewrite"))
    if (!solver->budget_unit().empty()) names[solver->budget_unit()].push_back(solver->name());
  std::vector<std::string> units;
  for (const auto& [unit, of] : names)
    units.push_back(fmt::format("{} ({})", unit, fmt::join(of, ", ")));
  return fmt::format("{}", fmt::join(units, ", "));
}

std::string method_table() {
  std::string table = fmt::format(
      "  {:<18} {}\n", kAutomatic,
      "greedy searches with several sets of rules; what they find is confirmed in ONNX Runtime "
      "where that is installed, and else by careful rules alone; for costs of other devices: "
      "rulelist");
  table += fmt::format(
      "  {:<18} {}\n", kSimplify,
      "no rewrites and no costs: folds constants and shape code, removes identities and dead code");
  for (const Solver* solver : solvers_for("rewrite"))
    table += fmt::format("  {:<18} {}\n", solver->name(), solver->what());
  table +=
      fmt::format("  {:<18} {}\n", "policy",
                  "a policy that `dream_train` wrote: its episodes, or a search that it guides "
                  "(--search)");
  table += "With --measurements; any other search measures the cheapest states that it comes by:\n";
  for (const NamedArm& arm : measured_arms())
    table += fmt::format("  {:<18} {}\n", arm.name, arm.what);
  table +=
      fmt::format("  {:<18} {}\n", "ppo", "where the episodes of an agent end that learns from it");
  return table;
}

SearchMethod method_of(const OptimizeSettings& config, const std::string& policy,
                       const std::shared_ptr<const RuleSet>& rules,
                       const std::shared_ptr<CostModel>& cost) {
  if (config.method == "policy") {
    const auto by_policy = method_of_policy("--method policy", policy, config.policy, rules, cost);
    return is_measured(config) ? measured_method(config, cheapest_of(by_policy)) : by_policy;
  }
  if (is_measured(config) && config.method == "ppo")
    return method_of_ppo("--method ppo", config.learned, config.measured,
                         timer_on(machine_beside(config.machine, config.cost), config.measured));
  if (is_measured(config)) return measured_method(config);
  const auto solvers = solvers_for("rewrite");
  if (std::ranges::count(solvers, config.method, &Solver::name) > 0)
    return method_named(config.method, config.solvers);
  throw InputError("no method '{}'; known are {}, {}, {}, policy", config.method, kAutomatic,
                   kSimplify, method_names());
}

RuleSet without(const RuleSet& rules, const std::vector<std::string>& patterns) {
  std::vector<std::string> unused;
  RuleSet kept = rules.without(patterns, &unused);
  if (!unused.empty())
    throw InputError("--without {}: there is no such rule (see reverie rules list)",
                     unused.front());
  return kept;
}

RuleSet rules_from(const OptimizeArguments& options) {
  return without(RuleSet::load_all(options.rule_files), options.rules_left_out);
}

/// Where it is known, how many expansions there will be, or measurements.
int64_t budget_of(const OptimizeSettings& config) {
  if (is_measured(config)) return config.measured.budget;
  if (config.method == "policy" && config.policy.search != PolicySearchKind::kEpisodes)
    return config.search.budget;
  for (const Solver* solver : solvers_for("rewrite"))
    if (solver->name() == config.method && solver->budget_unit() == "expansions")
      return config.search.budget;
  return 0;
}

/// Shows expansions and the best cost as the search goes on.
auto progress_reporter(Progress& progress) {
  return [&progress](const SearchProgress& now) {
    progress.update(now.expansions,
                    fmt::format("best {:.4f} ms, {} candidates",
                                picoseconds(now.best).milliseconds(), now.candidates));
  };
}

Optimized search_and_verify(const ImportedModel& model, const std::shared_ptr<const RuleSet>& rules,
                            const std::shared_ptr<CostModel>& cost, OptimizeSettings config,
                            const OptimizeArguments& options) {
  Progress progress(config.method, budget_of(config),
                    is_measured(config) ? "measurements" : "expansions",
                    progress_style(options.quiet));
  config.search.on_progress = progress_reporter(progress);
  config.measured.on_measured = measured_reporter(progress);
  config.search.stop = stop_on_interrupt();
  config.on_round = [&](int rounds) {
    progress.update(progress.done(), fmt::format("confirming, round {}", rounds));
  };
  const auto method =
      config.method == kAutomatic ? SearchMethod() : method_of(config, options.policy, rules, cost);
  return optimize_by(Subject(model, options.model), rules, cost, method, config);
}

void check_meant_for_policy(const OptimizeArguments& options, const OptimizeConfig& config) {
  if (config.method == "policy") return;
  const auto refuse = [&](const char* option) {
    throw InputError("{} is for --method policy, not {}", option, config.method);
  };
  if (!options.policy.empty()) refuse("--policy");
  for (const auto& [key, value] : options.given)
    if (key == "policy.search") refuse("--search");
}

void check_proved(const OptimizeArguments& options, const OptimizeConfig& config) {
  if (config.verify.inputs == 0 && !(options.out.empty() && options.contenders_folder.empty()))
    throw InputError(
        "with verify_inputs=0 nothing is proved, so that nothing can be written: leave out "
        "--out and --contenders-out");
}

void check_fit(const OptimizeArguments& options, const OptimizeConfig& config,
               const CostModel& prior) {
  if (options.fit_out.empty()) return;
  if (!is_measured(config))
    throw InputError(
        "--fit-out writes costs fitted to measurements: say how many by --measurements N");
  with_context("--fit-out", [&] { check_prior_of_fit(prior); });
  check_writable(options.fit_out);
}

/// The page is no file that the run needs otherwise.
void check_report(const OptimizeArguments& options) {
  if (options.report.empty()) return;
  for (const std::string& other : {options.model, options.out}) {
    std::error_code is_none;
    if (!other.empty() &&
        (other == options.report || std::filesystem::equivalent(other, options.report, is_none)))
      throw InputError("--report {}: the page would replace the model", options.report);
  }
  check_writable(options.report);
}

/// Each node that takes part in no rewrite, with the reason.
void print_untouched(const ImportedModel& model) {
  for (const UntouchedNode& node : model.untouched)
    fmt::print("{} ({}): {}\n", node.name, node.op, node.reason);
  fmt::print("{}\n\n", untouched_sentence(model));
}

ImportedModel read_model(const OptimizeArguments& options, OptimizeConfig& config) {
  ImportedModel model = import_to_rewrite(
      options.model, with_extents(options.extents, options.given_inputs), options.fix_shapes);
  for (const std::string& warning : model.warnings) fmt::print(stderr, "{}\n", warning);
  if (options.list_untouched) print_untouched(model);
  config.verify = with_inputs(std::move(config.verify), options.given_inputs, model.graph);
  return model;
}

std::string name_of_model(const std::string& file) {
  return file == "/dev/stdin" ? "a model from standard input"
                              : std::filesystem::path(file).filename().string();
}

void write_report(const OptimizeArguments& options, const OptimizeSettings& config,
                  const ImportedModel& model, const Optimized& result, const RuleSet& rules,
                  CostModel& cost, const OptimizeAccount& account) {
  if (options.report.empty()) return;
  const Graph& best = result.search.best;
  write_file(options.report,
             optimize_page({name_of_model(options.model), kVersion, command_line(),
                            dump_config(config), account, model, result, config, rules,
                            applied_rewrites(model.graph, rules, cost, result.search.rewrites),
                            result.changed ? written_operators(best) : model.operators}));
}

/// What importing did alone: constants and shape code folded, identities and dead code gone.
void simplify(const OptimizeArguments& options, const OptimizeSettings& config,
              const ImportedModel& model) {
  const int64_t left = written_nodes(model.graph);
  TriedGraph tried;
  if (!options.out.empty()) tried = try_symbols(options.model, model, model.graph, config.verify);
  OptimizeAccount account = account_of_simplified(model.nodes, left, tried.left_out);
  if (!options.out.empty())
    account.file =
        write_rewritten(options.model, model, tried, options.out, config.verify, options.fix_shapes,
                        most_weight_bytes(model.graph, config.search.max_weight_growth));
  warn(account.file);
  fmt::print("{}", text_of(account));
  Optimized result;
  result.search.best = model.graph;
  result.changed = true;
  NoCost none;
  write_report(options, config, model, result, RuleSet(), none, account);
  if (options.json)
    fmt::print("{}\n", Json{{"model", options.model},
                            {"method", kSimplify},
                            {"nodes", model.nodes},
                            {"nodes_after", left},
                            {"untouched_nodes", model.untouched.size()}}
                           .dump());
}

void run(const OptimizeArguments& options) {
  const std::string trained_cost =
      options.policy.empty() ? "" : cost_source_of_policy("--policy", options.policy);
  OptimizeSettings config = resolve_or_leave(options, trained_cost);
  check_meant_for_policy(options, config);
  require_options_read(config);
  check_proved(options, config);
  if (!options.out.empty()) check_writable(options.out);
  check_report(options);
  if (config.method == kSimplify) return simplify(options, config, read_model(options, config));
  const auto source = make_cost_model(config.cost, seconds_for_costs(config));
  check_fit(options, config, *source);
  if (!trained_cost.empty())
    if (const auto warning = warning_of_costs(options.policy, trained_cost, source->name());
        !warning.empty())
      fmt::print(stderr, "{}\n", warning);
  const auto rules = std::make_shared<const RuleSet>(rules_from(options));
  const ImportedModel model = read_model(options, config);
  if (!options.contenders_folder.empty()) create_directory(options.contenders_folder);
  const auto cost = costs_as_written(source, newest_opset(model));
  const Optimized result = search_and_verify(model, rules, cost, config, options);
  if (!options.fit_out.empty())
    write_fitted_costs(options.fit_out, options.model, result, config, cost);
  OptimizeAccount account = account_of(result, model, config, *rules);
  fmt::print("{}", text_of(account));
  const NoteSources sources{*rules, *cost};
  const NoteSources* const notes = options.no_metadata ? nullptr : &sources;
  if (!options.out.empty())
    account.file = write_optimized(options.model, model, result, config, options.out, notes);
  warn(account.file);
  write_report(options, config, model, result, *rules, *cost, account);
  Json json = to_json(options.model, model, result, config, *rules);
  add_measured(result, config, json);
  if (!result.benchmark.contestants.empty()) json["confirmed"] = to_json(result);
  if (!options.contenders_folder.empty())
    json["contenders"] =
        write_contenders(options.contenders_folder, options.model, model, result, config, notes);
  if (options.json) fmt::print("{}\n", json.dump());
}

void add_search_options(CLI::App& command, const std::shared_ptr<OptimizeArguments>& options) {
  add_key(command, options, "--method", "method",
          fmt::format("{}, {}, {} or policy; with --measurements also {} or ppo", kAutomatic,
                      kSimplify, method_names(), arm_names()));
  command.add_option("--policy", options->policy, "policy: policy.pt, as `dream_train` wrote it")
      ->type_name("FILE");
  add_key(command, options, "--search", "policy.search",
          "policy: episodes that it plays, or beam, guided by it");
  add_key(command, options, "--alpha", "taso.alpha",
          "taso: keep what costs below alpha x the best");
  add_key(command, options, "--budget", "budget",
          fmt::format("So many {}, sampled episodes or, when it guides, expansions (policy)",
                      budget_units()));
  add_key(command, options, "--measurements", "measured.budget",
          "Search against so many end-to-end measurements on this machine");
  command
      .add_option("--fit-out", options->fit_out,
                  "Where to write the costs fitted to these measurements, for --cost fitted:FILE")
      ->type_name("FILE");
  add_key(
      command, options, "--cost", "cost",
      "Where costs come from (policy: those that it was trained with): " + known_cost_sources());
  add_key(
      command, options, "--time-limit", "time_limit",
      "Seconds for measuring operators, for the search and for comparing; the best so far is kept");
  add_key(command, options, "--seed", "seed", "Seed of the random methods");
  add_key(command, options, "--threads", "threads",
          "Threads that search; the result is the same for any number");
  add_key(command, options, "--max-weight-growth", "max_weight_growth",
          "Bound of the bytes of weights relative to the original");
}

void add_result_options(CLI::App& command, const std::shared_ptr<OptimizeArguments>& options) {
  command.add_flag("--confirm", options->confirm,
                   "Measure the original and graphs of the search end to end on this machine, and "
                   "keep the one that is fastest beyond its interval");
  add_key(command, options, "--contenders", "contenders",
          "Graphs of the search to confirm or write");
  command
      .add_option("--contenders-out", options->contenders_folder,
                  "Write them all, verified, as FOLDER/1.onnx (the best), 2.onnx, ...")
      ->type_name("FOLDER");
  command
      .add_option("--report", options->report,
                  "Write a page: what changed where, times, what was left out and why")
      ->type_name("PAGE.html");
  add_repeated(
      command, "--rules", options->rule_files, "FILE",
      "Rule file, 'builtin' or 'generated', instead of the built-in rules; may be repeated");
  add_repeated(command, "--without", options->rules_left_out, "NAME",
               "Leave out a rule, or with NAME* all that begin so; may be repeated");
  add_extent_options(command, options->extents);
  command.add_flag("--fix-shapes", options->fix_shapes,
                   "Take rewrites too that replace a symbolic dimension by its extent");
  command.add_flag("--no-metadata", options->no_metadata,
                   "Leave out of the written file what its nodes tell: their rule and their cost");
  command.add_flag("--list-untouched", options->list_untouched,
                   "Name the nodes that take part in no rewrite, and why");
}

}  // namespace

void register_optimize(CLI::App& app) {
  auto options = std::make_shared<OptimizeArguments>();
  CLI::App* command = app.add_subcommand(
      "optimize",
      with_examples("Rewrite a model so that it runs faster",
                    {"optimize model.onnx -o better.onnx",
                     "optimize model.onnx -o better.onnx --dim batch=8,seq=128",
                     "optimize model.onnx -o better.onnx --method taso --cost cpu --time-limit 60",
                     "optimize - -o - <model.onnx >better.onnx"}));
  takes_standard_input(
      command->add_option("MODEL", options->model, "ONNX model; -: standard input")->required());
  takes_standard_output(command->add_option(
      "-o,--out", options->out, "Where to write the rewritten model; -: standard output"));
  add_search_options(*command, options);
  add_result_options(*command, options);
  add_input_options(*command, options->given_inputs);
  add_repeated(*command, "--config", options->config_files, "FILE", "YAML file with settings");
  add_repeated(*command, "--set", options->overrides, "KEY=VALUE",
               "One setting: key=value; may be repeated");
  command->add_flag("--json", options->json, "One line of JSON at the end");
  command->add_flag("--quiet", options->quiet, "No progress");
  command->footer([] {
    OptimizeSettings defaults;
    return fmt::format("Methods:\n{}{}{}", method_table(), kRareText, settings_text(defaults));
  });
  for (const char* rare :
       {"--search", "--alpha", "--measurements", "--fit-out", "--contenders", "--contenders-out",
        "--threads", "--fix-shapes", "--list-untouched", "--config", "--set"})
    command->get_option(rare)->group(kRareOptions);
  command->callback([options] { run(*options); });
}

}  // namespace reverie
