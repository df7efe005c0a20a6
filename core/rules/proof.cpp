#include "core/rules/proof.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace reverie {
namespace {

/// At least `x`, of two digits.
double rounded_up(double x) {
  if (x == 0) return 0;
  const double unit = std::pow(10.0, std::floor(std::log10(x)) - 1);
  double rounded = std::stod(fmt::format("{:.1e}", std::ceil(x / unit) * unit));
  if (rounded < x) rounded = std::stod(fmt::format("{:.1e}", rounded + unit));
  return rounded;
}

bool covers(const std::vector<int>& all, const std::vector<int>& some) {
  return std::ranges::includes(all, some);
}

}  // namespace

std::string text_of(const RuleProof& proof) {
  if (proof.empty()) return {};
  std::string text = "proof";
  if (proof.field)
    text += fmt::format("\n  field(assignments = {}, ranks = [{}], degree = {}, error = {:.1e})",
                        proof.field->assignments, fmt::join(proof.field->ranks, ", "),
                        proof.field->degree, rounded_up(proof.field->error));
  if (proof.axioms)
    text += fmt::format("\n  axioms(ranks = [{}], used = \"{}\")",
                        fmt::join(proof.axioms->ranks, ", "), fmt::join(proof.axioms->used, ", "));
  return text;
}

RuleProof as_written(const RuleProof& proof) {
  RuleProof written = proof;
  if (written.field) written.field->error = rounded_up(written.field->error);
  return written;
}

std::string unconfirmed(const RuleProof& stated, const RuleProof& found) {
  if (stated.field) {
    if (!found.field) return "it has no proof over the field";
    if (found.field->assignments < stated.field->assignments)
      return fmt::format("{} assignments of shapes, not {}", found.field->assignments,
                         stated.field->assignments);
    if (!covers(found.field->ranks, stated.field->ranks))
      return fmt::format("ranks [{}] over the field, not [{}]", fmt::join(found.field->ranks, ", "),
                         fmt::join(stated.field->ranks, ", "));
    if (as_written(found).field->error > stated.field->error)
      return fmt::format("an error of {:.1e}, not {:.1e}", rounded_up(found.field->error),
                         stated.field->error);
  }
  if (stated.axioms) {
    if (!found.axioms) return "the axioms do not give it";
    if (!covers(found.axioms->ranks, stated.axioms->ranks))
      return fmt::format("the axioms give it for ranks [{}], not [{}]",
                         fmt::join(found.axioms->ranks, ", "),
                         fmt::join(stated.axioms->ranks, ", "));
  }
  return {};
}

}  // namespace reverie
