#include "core/cost/profile.h"

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/stopwatch.h"

namespace reverie {
namespace {

CostTable table_so_far(const std::string& path) {
  return file_exists(path) ? read_cost_table(path) : CostTable{};
}

}  // namespace

ProfileResult profile_operators(const std::map<std::string, OpSignature>& operators,
                                const ProfileOptions& options) {
  const CostTable before = table_so_far(measured_table_path(options.measure));
  ProfileResult result{.operators = std::ssize(operators)};
  MeasureOptions measure = options.measure;
  measure.on_unmeasured = [&](const std::string& signature, const std::string& reason) {
    result.reasons.push_back({signature, reason});
  };
  const auto costs = make_measured_cost_model(measure);
  const Stopwatch watch;
  const auto out_of_time = [&] {
    return options.max_seconds > 0 && watch.seconds() >= options.max_seconds;
  };
  int64_t done = 0;
  for (const auto& [text, signature] : operators) {
    if (before.entries.contains(text)) {
      ++result.known;
    } else if (options.stop.requested() || out_of_time()) {
      result.complete = false;
      break;
    } else {
      costs->cost(signature);
    }
    if (options.on_progress) options.on_progress(++done);
  }
  costs->keep();
  result.measured = costs->counters().measurements;
  result.unmeasured = costs->counters().estimates;
  return result;
}

std::string signature_list(const std::map<std::string, OpSignature>& operators) {
  std::string list;
  for (const auto& [text, signature] : operators) list += text + "\n";
  return list;
}

std::map<std::string, OpSignature> parse_signature_list(std::string_view text) {
  std::map<std::string, OpSignature> operators;
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line[0] == '#') continue;
    with_context(fmt::format("line {}", number), [&] {
      OpSignature signature = parse_signature(line);
      std::string canonical = signature.text();
      operators.emplace(std::move(canonical), std::move(signature));
    });
  }
  return operators;
}

}  // namespace reverie
