#include "env/adapt/run_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/files.h"
#include "core/report/html.h"
#include "env/adapt/features.h"

namespace reverie {
namespace {

std::string percent(double share) { return fmt::format("{:.2f}", 100 * share); }

std::string result_sentence(const RunReport& report) {
  const size_t counted =
      std::min(report.end().curve.size(), static_cast<size_t>(report.final_epochs));
  std::string text = fmt::format(
      "Accuracy {} %, the mean of the last {} of {} epochs; at the first decision it was {} %.",
      percent(report.accuracy()), counted, report.end().curve.size(),
      percent(mean_accuracy(report.stops.front().curve, report.final_epochs)));
  if (report.unchanged)
    text += fmt::format(" The same run without a change reached {} %.", percent(*report.unchanged));
  return text;
}

std::string setting_sentence(const RunReport& report) {
  return fmt::format("Budget: {}. Decisions by {}, seed {}. The network was {}.", report.budget,
                     report.method, report.seed, images_text(report.images));
}

std::string check_sentence(const RunReport& report) {
  return fmt::format(
      "network.onnx was run on {} test images. Its outputs are those of training; the largest "
      "relative error is {:.1e} ({:.0e} is allowed).",
      report.onnx.images, report.onnx.error, kOnnxTolerance);
}

HtmlTable sizes(const RunReport& report) {
  const Network &first = report.stops.front().network, &last = report.end().network;
  const auto row = [](const char* what, int64_t before, int64_t after) {
    return std::vector<std::string>{what, fmt::format("{}", before), fmt::format("{}", after)};
  };
  return {{"size", "at the start", "at the end"},
          {row("parameters", first.parameters(), last.parameters()),
           row("multiply-adds of an image", first.multiply_adds(), last.multiply_adds()),
           row("blocks", std::ssize(first.blocks), std::ssize(last.blocks))}};
}

HtmlTable decision_table(const RunReport& report) {
  HtmlTable table{{"decision", "after epoch", "budget spent, %", "parameters then"}, {}};
  const std::vector<std::string> names = report.decisions();
  for (size_t i = 0; i < names.size(); ++i) {
    const JobState& at = report.stops[i];
    const Network next = after_decision(at.network, report.end().decisions[i]);
    table.rows.push_back({names[i], fmt::format("{}", at.curve.size()), percent(at.spent),
                          fmt::format("{}", next.parameters())});
  }
  return table;
}

HtmlTable curve_table(const RunReport& report) {
  HtmlTable table{{"epoch", "budget spent, %", "accuracy, %", "in training, %", "loss"}, {}};
  for (const EpochRecord& epoch : report.end().curve)
    table.rows.push_back({fmt::format("{}", table.rows.size() + 1), percent(epoch.spent),
                          percent(epoch.accuracy), percent(epoch.train_accuracy),
                          fmt::format("{:.4f}", epoch.loss)});
  return table;
}

std::string markdown(const HtmlTable& table) {
  std::string text = fmt::format("| {} |\n|", fmt::join(table.heads, " | "));
  for (size_t i = 0; i < table.heads.size(); ++i) text += " --- |";
  text += "\n";
  for (const auto& row : table.rows) text += fmt::format("| {} |\n", fmt::join(row, " | "));
  return text + "\n";
}

/// Accuracies over the budget, and an upright line where a decision was taken.
Chart chart(const RunReport& report) {
  Series tested, trained;
  tested.name = "accuracy";
  trained.name = "in training";
  double low = 100, high = 0;
  for (const EpochRecord& epoch : report.end().curve) {
    tested.points.emplace_back(100 * epoch.spent, 100 * epoch.accuracy);
    trained.points.emplace_back(100 * epoch.spent, 100 * epoch.train_accuracy);
    low = std::min({low, 100 * epoch.accuracy, 100 * epoch.train_accuracy});
    high = std::max({high, 100 * epoch.accuracy, 100 * epoch.train_accuracy});
  }
  std::vector<Series> series = {tested, trained};
  const std::vector<std::string> names = report.decisions();
  for (size_t i = 0; i < names.size(); ++i) {
    Series line;
    line.name = names[i];
    line.points = {{100 * report.stops[i].spent, low}, {100 * report.stops[i].spent, high}};
    series.push_back(line);
  }
  return line_chart("Learning curve, and the decisions on it",
                    {.x_label = "share of the budget, %", .y_label = "accuracy, %"}, series);
}

std::string markdown_report(const RunReport& report) {
  return fmt::format(
      "# Training of {}\n\n{}\n\n{}\n\n{}## Decisions\n\n{}## Learning curve\n\n{}"
      "## The file\n\n{}\n",
      report.scenario, result_sentence(report), setting_sentence(report), markdown(sizes(report)),
      markdown(decision_table(report)), markdown(curve_table(report)), check_sentence(report));
}

std::string html_report(const RunReport& report) {
  return html_page(
      "Training of " + report.scenario,
      html_paragraph(result_sentence(report)) + html_paragraph(setting_sentence(report)) +
          html_figure(chart(report), "narrow") + "<h2>Decisions</h2>\n" +
          html_table(decision_table(report)) + "<h2>Size</h2>\n" + html_table(sizes(report)) +
          "<h2>The file</h2>\n" + html_paragraph(check_sentence(report)) + "<h2>Epochs</h2>\n" +
          html_table(curve_table(report)));
}

Json size_json(const Network& network) {
  return {{"parameters", network.parameters()},
          {"multiply_adds", network.multiply_adds()},
          {"blocks", std::ssize(network.blocks)}};
}

Json json_report(const RunReport& report) {
  Json::Array decisions, curve;
  const std::vector<std::string> names = report.decisions();
  for (size_t i = 0; i < names.size(); ++i)
    decisions.push_back({{"decision", names[i]},
                         {"after_epoch", report.stops[i].curve.size()},
                         {"spent", report.stops[i].spent}});
  for (const EpochRecord& epoch : report.end().curve)
    curve.push_back({{"accuracy", epoch.accuracy},
                     {"train_accuracy", epoch.train_accuracy},
                     {"loss", epoch.loss},
                     {"spent", epoch.spent}});
  return {{"scenario", report.scenario},
          {"method", report.method},
          {"seed", report.seed},
          {"budget", report.budget},
          {"accuracy", report.accuracy()},
          {"final_epochs", report.final_epochs},
          {"unchanged_accuracy", report.unchanged ? Json(*report.unchanged) : Json()},
          {"images",
           {{"train", report.images.train},
            {"test", report.images.test},
            {"all_train", report.images.all_train},
            {"all_test", report.images.all_test}}},
          {"start", size_json(report.stops.front().network)},
          {"end", size_json(report.end().network)},
          {"decisions", decisions},
          {"curve", curve},
          {"onnx", {{"images", report.onnx.images}, {"max_relative_error", report.onnx.error}}}};
}

}  // namespace

std::string images_text(const ImageCounts& images) {
  return fmt::format("trained on {} of {} images, accuracy on {} of {}", images.train,
                     images.all_train, images.test, images.all_test);
}

double RunReport::accuracy() const { return mean_accuracy(end().curve, final_epochs); }

std::vector<std::string> RunReport::decisions() const {
  std::vector<std::string> names;
  for (const auto& decision : end().decisions)
    names.push_back(text_of(decision, end().network, rates));
  return names;
}

void write_report(const RunReport& report, const std::string& folder) {
  write_file(folder + "/report.json", json_report(report).dump(2) + "\n");
  write_file(folder + "/report.md", markdown_report(report));
  write_file(folder + "/report.html", html_report(report));
}

}  // namespace reverie
