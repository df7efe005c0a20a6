#include "tools/optimize_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <tuple>

#include "core/base/words.h"
#include "core/onnx/symbols.h"
#include "core/report/svg.h"
#include "env/rewrite/optimize/file_cost.h"
#include "tools/contenders.h"
#include "tools/units.h"

namespace reverie {
namespace {

std::string section(const std::string& title, const std::string& body) {
  return body.empty() ? "" : "<h2>" + title + "</h2>\n" + body;
}

std::string figure(const Chart& chart) { return html_figure(chart, "narrow"); }

std::string list_of(const std::vector<std::string>& sentences) {
  return sentences.empty() ? "" : html_list(sentences);
}

// --- Times ------------------------------------------------------------------------------------

Bar bar_of(size_t contestant, const ContestantResult& timed) {
  const auto gain = [](double ratio) { return 100 * (1 - ratio); };
  Bar bar{name_of_contestant(contestant), gain(timed.ratio.median)};
  bar.low = timed.finalist ? gain(timed.ratio.high) : bar.value;
  bar.high = timed.finalist ? gain(timed.ratio.low) : bar.value;
  if (!timed.finalist) bar.name += ", screened";
  return bar;
}

std::string times(const OptimizeReport& report) {
  if (report.account.contestants.rows.empty()) return "";
  std::vector<Bar> bars;
  const std::vector<ContestantResult>& all = report.result.benchmark.contestants;
  for (size_t i = 1; i < all.size(); ++i)
    if (all[i].median > 0) bars.push_back(bar_of(i, all[i]));
  return html_paragraph(report.account.machine) +
         figure(gain_chart("Time saved in a run, with 95 % intervals", bars)) +
         html_table(report.account.contestants);
}

// --- Before and after -------------------------------------------------------------------------

struct OperatorCount {
  std::string name;
  int64_t before = 0, after = 0;
  int64_t change() const { return after - before; }
};

std::vector<std::string> row_of(const OperatorCount& count) {
  return {count.name, fmt::format("{}", count.before), fmt::format("{}", count.after),
          fmt::format("{:+}", count.change())};
}

/// Those that changed most first.
std::vector<OperatorCount> operator_counts(const OptimizeReport& report) {
  std::map<std::string, OperatorCount> counts;
  for (const auto& [name, count] : report.model.operators) counts[name].before = count;
  for (const auto& [name, count] : report.operators_after) counts[name].after = count;
  std::vector<OperatorCount> sorted;
  for (auto& [name, count] : counts) sorted.push_back({name, count.before, count.after});
  std::ranges::stable_sort(sorted, std::ranges::greater(),
                           [](const OperatorCount& count) { return std::abs(count.change()); });
  return sorted;
}

std::string operators(const OptimizeReport& report) {
  HtmlTable table{{"nodes by operator", "before", "after", "change"}};
  OperatorCount all{"all"};
  std::vector<std::string> same;
  for (const OperatorCount& count : operator_counts(report)) {
    all.before += count.before;
    all.after += count.after;
    if (count.change() != 0)
      table.rows.push_back(row_of(count));
    else
      same.push_back(fmt::format("{} {}", count.name, count.after));
  }
  std::string html;
  if (table.marked = static_cast<int>(table.rows.size()); table.marked > 0) {
    table.rows.push_back(row_of(all));
    html += html_table(table);
  }
  if (!same.empty())
    html += html_paragraph(
        fmt::format("Operators with as many nodes before as after: {}.", fmt::join(same, ", ")));
  return html;
}

std::string before_and_after(const OptimizeReport& report) {
  const OptimizeAccount& account = report.account;
  if (account.costs.rows.empty()) return operators(report);
  return html_table(account.costs) + html_paragraph(account.cost_note) + operators(report);
}

// --- What changed where -----------------------------------------------------------------------

/// A rule where it did the same to operators.
struct Use {
  std::vector<std::string> places;
  Picoseconds saved;
};
using Uses = std::map<std::tuple<int, std::vector<std::string>, std::vector<std::string>>, Use>;

/// "2 Conv, Concat".
std::string operators_text(const std::vector<std::string>& operators) {
  if (operators.empty()) return "nothing";
  std::vector<std::pair<std::string, int>> counts;
  for (const std::string& name : operators) {
    const auto known = std::ranges::find(counts, name, &std::pair<std::string, int>::first);
    if (known != counts.end())
      ++known->second;
    else
      counts.emplace_back(name, 1);
  }
  std::vector<std::string> texts;
  for (const auto& [name, count] : counts)
    texts.push_back(count == 1 ? name : fmt::format("{} {}", count, name));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string place_of(const AppliedRewrite& rewrite) {
  constexpr size_t kShown = 4;
  const std::vector<std::string>& nodes = rewrite.nodes;
  if (nodes.empty()) return "nodes without a name";
  const auto end = nodes.begin() + static_cast<int64_t>(std::min(kShown, nodes.size()));
  std::string text = fmt::format("{}", fmt::join(nodes.begin(), end, ", "));
  if (nodes.size() > kShown) text += fmt::format(" and {} more", nodes.size() - kShown);
  return text;
}

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// A text cut where numbers begin and end: text, number, text, ..., text.
std::vector<std::string> cut_at_numbers(const std::string& text) {
  std::vector<std::string> parts = {""};
  for (const char c : text) {
    const bool in_number = parts.size() % 2 == 0;
    if (is_digit(c) != in_number) parts.emplace_back();
    parts.back() += c;
  }
  if (parts.size() % 2 == 0) parts.emplace_back();
  return parts;
}

std::string without_numbers(const std::string& text) {
  std::string stem;
  const std::vector<std::string> parts = cut_at_numbers(text);
  for (size_t i = 0; i < parts.size(); ++i) stem += i % 2 == 0 ? parts[i] : "#";
  return stem;
}

/// Of equal layers together, in order of first appearance.
std::vector<std::vector<std::string>> alike(const std::vector<std::string>& places) {
  std::vector<std::string> stems;
  std::vector<std::vector<std::string>> groups;
  for (const std::string& place : places) {
    const std::string stem = without_numbers(place);
    const auto known = std::ranges::find(stems, stem);
    if (known == stems.end()) groups.emplace_back();
    auto& group =
        known == stems.end() ? groups.back() : groups[static_cast<size_t>(known - stems.begin())];
    if (known == stems.end()) stems.push_back(stem);
    group.push_back(place);
  }
  return groups;
}

/// Texts, those of equal layers as one; all of them at a click.
std::string where(const std::vector<std::string>& places) {
  constexpr size_t kShown = 3;
  std::vector<std::string> lines;
  const std::vector<std::vector<std::string>> groups = alike(places);
  for (size_t i = 0; i < std::min(kShown, groups.size()); ++i)
    lines.push_back(common_text(groups[i]));
  std::string html = html_list(lines);
  if (places.size() > lines.size())
    html += html_details(fmt::format("all {}", counted(places.size(), "place")), html_list(places));
  return html;
}

std::string uses_table(const RuleSet& rules, const Uses& uses) {
  std::vector<const Uses::value_type*> sorted;
  for (const auto& use : uses) sorted.push_back(&use);
  std::ranges::stable_sort(sorted, std::ranges::greater(),
                           [](const auto* use) { return use->second.saved.count; });
  HtmlTable table{{"times", "rule", "operators", "saved, by costs", "where"}};
  table.left = {1, 2, 4};
  table.markup = {1, 4};
  for (const auto* use : sorted) {
    const auto& [rule, before, after] = use->first;
    table.rows.push_back(
        {fmt::format("{}", use->second.places.size()),
         html_details(rules.name(rule), "<pre>" + escape_html(rules[rule].text()) + "</pre>\n"),
         operators_text(before) + " \u2192 " + operators_text(after),
         fmt::format("{:.4f} ms", use->second.saved.milliseconds()), where(use->second.places)});
  }
  return html_table(table);
}

int64_t places_of(const Uses& uses) {
  int64_t count = 0;
  for (const auto& [key, use] : uses) count += std::ssize(use.places);
  return count;
}

/// Names of used rules of which a file shows nothing.
std::set<std::string> unseen_rules(const OptimizeReport& report) {
  std::set<std::string> used, unseen;
  for (const AppliedRewrite& rewrite : report.rewrites)
    used.insert(report.rules.name(rewrite.rule));
  const RuleSet fusions =
      fusions_among(report.rules.subset(std::vector<std::string>(used.begin(), used.end())));
  for (int i = 0; i < fusions.size(); ++i) unseen.insert(fusions.name(i));
  return unseen;
}

std::string changes(const OptimizeReport& report) {
  if (report.rewrites.empty()) {
    const bool is_found =
        report.result.changed && !report.result.simplified && !report.account.costs.rows.empty();
    return is_found ? html_paragraph("This method finds a graph, and no rewrites that lead there.")
                    : "";
  }
  const std::set<std::string> unseen = unseen_rules(report);
  Uses seen_uses, unseen_uses;
  for (const AppliedRewrite& rewrite : report.rewrites) {
    Uses& uses = unseen.contains(report.rules.name(rewrite.rule)) ? unseen_uses : seen_uses;
    Use& use = uses[{rewrite.rule, rewrite.before, rewrite.after}];
    use.places.push_back(place_of(rewrite));
    use.saved += rewrite.saved;
  }
  std::string html;
  if (!seen_uses.empty()) html += uses_table(report.rules, seen_uses);
  if (!unseen_uses.empty())
    html += html_details(
        fmt::format("{} without a trace in the file: a runtime fuses these nodes by itself",
                    counted(places_of(unseen_uses), "more rewrite")),
        uses_table(report.rules, unseen_uses));
  return html;
}

// --- The search -------------------------------------------------------------------------------

Chart cost_over_time(const OptimizeReport& report) {
  const SearchResult& search = report.result.search;
  Series best{"best so far", {}, true};
  for (const SearchProgress& point : search.trace)
    best.points.emplace_back(point.seconds, picoseconds(point.best).milliseconds());
  if (best.points.size() < 2) return {};
  const char* of = report.config.method == kAutomatic ? ", in the first of its searches" : "";
  return line_chart(fmt::format("Best so far over time, by {}{}", report.result.cost_source, of),
                    {.x_label = "seconds, logarithmic",
                     .y_label = "sum of costs, ms",
                     .log_x = true,
                     .skip_flat = true},
                    {best});
}

Chart time_over_time(const MeasuredReport& measured) {
  Series each{"measured", {}, false}, best{"best so far", {}, true};
  for (const MeasuredPoint& point : measured.trace) {
    each.points.emplace_back(point.seconds, point.measured / kMillisecond);
    best.points.emplace_back(point.seconds, point.best / kMillisecond);
  }
  return line_chart("Best so far over time, measured end to end",
                    {.x_label = "seconds", .y_label = "time of a run, ms"}, {best, each});
}

std::string search_section(const OptimizeReport& report) {
  const SearchResult& found = report.result.search;
  std::string html = list_of(report.account.search) + list_of(report.account.measured);
  if (found.measured) return html + figure(time_over_time(*found.measured));
  return html + figure(cost_over_time(report));
}

// --- What was left out ------------------------------------------------------------------------

std::string untouched(const ImportedModel& model) {
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> groups;
  for (const UntouchedNode& node : model.untouched)
    groups[{node.op, node.reason}].push_back(node.name);
  HtmlTable table{{"operator", "why it is untouched", "nodes", "where"}};
  table.left = {0, 1, 3};
  table.markup = {3};
  for (const auto& [what, names] : groups)
    table.rows.push_back({what.first, what.second, fmt::format("{}", names.size()), where(names)});
  return html_table(table);
}

std::string left_out(const OptimizeReport& report) {
  const OptimizeAccount& account = report.account;
  std::vector<std::string> sentences = account.objections;
  for (const auto* more : {&account.unchecked, &account.file, &report.model.warnings})
    sentences.insert(sentences.end(), more->begin(), more->end());
  sentences.push_back(untouched_sentence(report.model));
  return html_list(sentences) + (report.model.untouched.empty() ? "" : untouched(report.model));
}

// --- Versions and settings --------------------------------------------------------------------

std::string opsets_text(const ModelInfo& info) {
  std::vector<std::string> texts;
  for (const auto& [domain, version] : info.opset_imports)
    texts.push_back(domain.empty() ? fmt::format("opset {}", version)
                                   : fmt::format("opset {} of {}", version, domain));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string extents_text(const ImportedModel& model) {
  std::vector<std::string> texts;
  for (const auto& [symbol, extent] : bound_extents(model))
    texts.push_back(fmt::format("{} = {}", symbol, extent));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string settings(const OptimizeReport& report) {
  const OptimizeConfig& config = report.config;
  const ModelInfo& info = report.model.info;
  HtmlTable table{{"what", "value"}};
  table.left = {0, 1};
  const auto add = [&](const char* what, const std::string& value) {
    if (!value.empty()) table.rows.push_back({what, value});
  };
  add("command", report.command);
  add("program", report.program);
  const std::string version = info.producer_version.empty() ? "" : " " + info.producer_version;
  add("model", fmt::format("{}, written by {}{}, {}", report.name,
                           info.producer_name.empty() ? "an unnamed program" : info.producer_name,
                           version, opsets_text(info)));
  add("symbolic dimensions as costs see them", extents_text(report.model));
  add("method", config.method);
  add("costs", report.result.cost_source);
  add("seed", fmt::format("{}", config.search.seed));
  if (config.search.time_limit > 0)
    add("time limit", fmt::format("{} s", config.search.time_limit));
  add("timed on", report.result.machine.device);
  add("timed in", report.result.machine.library);
  return html_table(table) +
         html_details("all settings", "<pre>" + escape_html(report.settings) + "</pre>\n");
}

/// Numbers as they stand in names, the shorter one first.
std::string range_of(std::vector<std::string> numbers) {
  const auto size_then_text = [](const std::string& number) {
    return std::pair(number.size(), number);
  };
  const auto [low, high] = std::ranges::minmax_element(numbers, {}, size_then_text);
  return *low == *high ? *low : fmt::format("{{{}..{}}}", *low, *high);
}

}  // namespace

std::string common_text(const std::vector<std::string>& places) {
  std::vector<std::vector<std::string>> cut;
  for (const std::string& place : places) cut.push_back(cut_at_numbers(place));
  std::string text;
  for (size_t i = 0; i < cut[0].size(); ++i) {
    std::vector<std::string> parts;
    for (const auto& of_place : cut) parts.push_back(of_place.at(i));
    text += i % 2 == 0 ? parts[0] : range_of(parts);
  }
  return text;
}

std::string optimize_page(const OptimizeReport& report) {
  const OptimizeAccount& account = report.account;
  std::vector<std::string> lead = account.confirmed;
  lead.insert(lead.end(), account.verdict.begin(), account.verdict.end());
  return html_page("Optimization of " + report.name,
                   list_of(lead) + section("Times", times(report)) +
                       section("Before and after", before_and_after(report)) +
                       section("What changed where", changes(report)) +
                       section("The search", search_section(report)) +
                       section("What was left out or assumed", left_out(report)) +
                       section("Versions and settings", settings(report)));
}

}  // namespace reverie
