#include <fmt/format.h>

#include <memory>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/report/curves.h"
#include "core/report/summary.h"
#include "tools/command.h"
#include "tools/help.h"

namespace reverie {
namespace {

struct SummarizeArguments {
  std::vector<std::string> files;
  std::vector<std::string> conditions;
  std::vector<std::string> metrics = {SummaryOptions().metric};
  SummaryOptions summary;
  CurveOptions curve;
  std::vector<std::string> correlated;
  std::string at;
  std::string out;
  std::string plot;
  bool json = false;
};

void write_plot(const std::vector<FlatRun>& runs, const SummarizeArguments& options) {
  CurveOptions curve = options.curve;
  curve.summary = options.summary;
  curve.summary.metric = options.metrics.front();
  curve.beside.assign(options.metrics.begin() + 1, options.metrics.end());
  if (options.plot.ends_with(".html")) return write_file(options.plot, curve_page(runs, curve));
  if (!options.plot.ends_with(".svg"))
    throw InputError("--plot {}: name a file that ends in .svg or .html", options.plot);
  const Chart chart = curve_chart(runs, curve);
  if (chart.svg.empty()) throw InputError("--plot {}: there is nothing to draw", options.plot);
  write_file(options.plot, svg_file(chart.svg));
  write_file(options.plot.substr(0, options.plot.size() - 4) + ".csv", chart.csv);
}

/// Of one metric after the other.
void write_tables(const std::vector<FlatRun>& runs, const SummarizeArguments& options) {
  std::string tables, json;
  for (const std::string& metric : options.metrics) {
    SummaryOptions one = options.summary;
    one.metric = metric;
    const Summary summary = summarize(runs, one);
    tables += (tables.empty() ? "" : "\n") + summary_markdown(summary);
    json += summary_json(summary) + "\n";
  }
  if (!options.out.empty()) write_file(options.out, tables);
  fmt::print("{}{}", tables, options.json ? json : "");
}

std::pair<std::string, double> parse_place(const std::string& text) {
  const auto [field, number] = parse_condition(text);
  double value = 0;
  if (!CLI::detail::lexical_cast(number, value))
    throw InputError("--at {}: '{}' is no number", text, number);
  return {field, value};
}

void run(SummarizeArguments options) {
  for (const std::string& condition : options.conditions)
    options.summary.where.push_back(parse_condition(condition));
  if (!options.at.empty()) options.summary.at = parse_place(options.at);
  const std::vector<FlatRun> runs = read_runs(options.files);
  if (!options.correlated.empty()) {
    fmt::print("{}\n", correlation_line(runs_where(runs, options.summary.where),
                                        options.correlated[0], options.correlated[1]));
    return;
  }
  if (!options.plot.empty()) write_plot(runs, options);
  if (options.plot.empty() || !options.out.empty() || options.json) write_tables(runs, options);
}

void add_plot_options(CLI::App& command, SummarizeArguments& options) {
  command
      .add_option("--plot", options.plot,
                  "Draw the metrics over --x, with the numbers as CSV beside; tables then only "
                  "with --out or --json")
      ->type_name("FILE.svg|FILE.html");
  command.add_option("--x", options.curve.x, "Field of the runs, or of the points of their traces")
      ->capture_default_str();
  command.add_flag("--profile", options.curve.profile,
                   "Draw a performance profile instead: how many percent of the runs reach each "
                   "value of the metric");
  command.add_flag("--log-x", options.curve.log_x, "Logarithmic");
  command.add_flag("--log-y", options.curve.log_y, "Logarithmic");
  command.add_flag(
      "--straight", options.curve.straight,
      "Straight lines through the points of traces, which runs must have at the same x, instead of "
      "values that hold until the next point");
  command.add_option("--x-label", options.curve.x_label,
                     "Of the plot, instead of the field's name");
  command.add_option("--y-label", options.curve.y_label,
                     "Of the plot, instead of the metrics' names");
  command.add_option("--title", options.curve.title, "Of the plot");
  for (const char* of_plot : {"--x", "--profile", "--log-x", "--log-y", "--straight", "--x-label",
                              "--y-label", "--title"})
    command.get_option(of_plot)->needs("--plot");
  for (const char* of_curve : {"--x", "--straight"})
    command.get_option("--profile")->excludes(of_curve);
}

}  // namespace

void register_summarize(CLI::App& app) {
  auto options = std::make_shared<SummarizeArguments>();
  SummaryOptions& summary = options->summary;
  CLI::App* command = app.add_subcommand(
      "summarize",
      with_examples("Tables and curves from the runs of an experiment",
                    {"summarize runs.jsonl --metric improvement_percent --versus greedy"}));
  command
      ->add_option("RESULTS", options->files,
                   "JSON or JSON lines, or these packed by gzip (.gz), see experiments/README.md")
      ->required();
  command
      ->add_option(
          "--metric", options->metrics,
          "Fields that are compared, each in tables of its own; a plot has them side by side")
      ->type_name("FIELD[,FIELD...]")
      ->delimiter(',')
      ->expected(1)
      ->take_all()
      ->capture_default_str();
  command->add_option("--by", summary.by, "Field whose values are compared")->capture_default_str();
  command->add_option("--strata", summary.strata, "Field whose values are tasks")
      ->capture_default_str();
  command->add_option("--versus", summary.versus, "Method that the others are compared with");
  add_repeated(*command, "--where", options->conditions, "FIELD=VALUE[,VALUE...]",
               "Of the runs only these; may be repeated");
  command
      ->add_option("--at", options->at,
                   "The runs as their traces have them there; base and best known of a gap are "
                   "those of whole runs")
      ->type_name("FIELD=VALUE");
  command->add_flag("--median", summary.median, "Of the runs of a task, instead of their mean");
  command->add_flag("--lower-is-better", summary.lower_is_better, "The metric is a cost or a time");
  command->add_flag("--gap-closed", summary.gap_closed,
                    "100 (x - base) / (best known - base) of the metric x, per task");
  command->add_option("--gap-base", summary.gap_base, "Method that is the base")
      ->capture_default_str();
  command->add_option("--min-gap", summary.min_gap, "Tasks with a smaller gap are left out")
      ->capture_default_str();
  for (const char* of_gap : {"--gap-base", "--min-gap"})
    command->get_option(of_gap)->needs("--gap-closed");
  command->add_option("--resamples", summary.bootstrap.resamples, "Of the bootstrap")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command->add_option("--seed", summary.bootstrap.seed, "Of the bootstrap")->capture_default_str();
  command
      ->add_option("--correlate", options->correlated,
                   "Print the rank correlation of two fields over all runs, nothing else")
      ->type_name("X Y")
      ->expected(2);
  add_plot_options(*command, *options);
  command->add_option("-o,--out", options->out, "Write the tables there too")->type_name("FILE.md");
  command->add_flag("--json", options->json, "One line of JSON a metric at the end");
  command->callback([options] { run(*options); });
}

}  // namespace reverie
