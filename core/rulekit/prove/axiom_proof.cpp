#include "core/rulekit/prove/axiom_proof.h"

#include <z3++.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/base/error.h"
#include "core/rulekit/prove/rule_terms.h"
#include "core/rulekit/verify/assignments.h"
#include "core/rulekit/verify/field_proof.h"

namespace reverie {
namespace {

using Names = std::set<std::string>;

/// Functions with tensors as results, and whether nothing but functions and numbers occurs.
bool collect(const z3::expr& term, Names& functions, std::set<unsigned>& constants) {
  if (term.is_numeral()) return true;
  if (!term.is_app() || term.decl().decl_kind() != Z3_OP_UNINTERPRETED) return false;
  if (term.num_args() == 0)
    constants.insert(term.id());
  else if (term.get_sort().sort_kind() == Z3_UNINTERPRETED_SORT)
    functions.insert(term.decl().name().str());
  bool plain = true;
  for (unsigned i = 0; i < term.num_args(); ++i)
    plain = collect(term.arg(i), functions, constants) && plain;
  return plain;
}

/// Terms where one side of an axiom stands; empty where that side cannot be looked for.
struct Side {
  std::vector<z3::expr> terms;
  Names functions;
};

Side side_of(const std::vector<z3::expr>& roots, const std::vector<z3::expr>& variables) {
  Side side;
  std::set<unsigned> bound;
  bool plain = true;
  for (const z3::expr& root : roots) {
    plain = collect(root, side.functions, bound) && plain;
    if (root.num_args() > 0) side.terms.push_back(root);
  }
  const bool complete = std::all_of(variables.begin(), variables.end(),
                                    [&](const z3::expr& v) { return bound.contains(v.id()); });
  if (!plain || !complete) return {};
  return side;
}

struct Axiom {
  std::string name;
  z3::expr formula;
  Side left, right;
  Names functions;
};

z3::expr conjunction(z3::context& context, const std::vector<z3::expr>& parts) {
  return prove::all_of(context, parts);
}

z3::expr quantified(z3::context& context, const prove::RuleTerms& terms, const z3::expr& body,
                    const std::vector<const Side*>& sides) {
  std::vector<Z3_app> bound;
  for (const z3::expr& variable : terms.variables) bound.push_back(Z3_to_app(context, variable));
  std::vector<Z3_pattern> patterns;
  std::vector<z3::ast> kept;  // so that they are not collected
  for (const Side* side : sides) {
    if (side->terms.empty()) continue;
    std::vector<Z3_ast> asts(side->terms.begin(), side->terms.end());
    patterns.push_back(Z3_mk_pattern(context, static_cast<unsigned>(asts.size()), asts.data()));
    kept.emplace_back(context, Z3_pattern_to_ast(context, patterns.back()));
  }
  const Z3_ast formula =
      Z3_mk_forall_const(context, 0, static_cast<unsigned>(bound.size()), bound.data(),
                         static_cast<unsigned>(patterns.size()), patterns.data(), body);
  context.check_error();
  return z3::expr(context, formula);
}

/// The axioms in every form of at most four dimensions, and proofs by them.
class AxiomProver {
 public:
  AxiomProver() {
    const RuleSet& rules = axioms();
    for (int i = 0; i < rules.size(); ++i) add_axiom(rules[i]);
  }

  /// Names of the axioms used; nothing where they do not suffice.
  std::optional<std::vector<std::string>> follows(const RulePattern& pattern,
                                                  const prove::RuleForm& form, uint32_t effort) {
    const prove::RuleTerms terms = prove::terms_of(context_, pattern, form);
    z3::solver solver(context_);
    z3::params parameters(context_);
    parameters.set("auto_config", false);
    parameters.set("mbqi", false);
    parameters.set("unsat_core", true);
    parameters.set("rlimit", effort);
    solver.set(parameters);
    std::vector<z3::expr> equal;
    Names functions;
    std::set<unsigned> constants;
    for (const auto& [source, target] : terms.outputs) {
      equal.push_back(source == target);
      collect(source, functions, constants);
      collect(target, functions, constants);
    }
    for (const z3::expr& condition : terms.conditions) solver.add(condition);
    for (const z3::expr& fact : terms.facts) solver.add(fact);
    solver.add(!conjunction(context_, equal));
    std::map<std::string, size_t> names;
    for (const size_t i : relevant(functions)) {
      const std::string label = fmt::format("axiom{}", i);
      names[label] = i;
      solver.add(axioms_[i].formula, label.c_str());
    }
    if (solver.check() != z3::unsat) return {};
    std::set<size_t> used;
    for (const z3::expr& label : solver.unsat_core())
      if (const auto at = names.find(label.decl().name().str()); at != names.end())
        used.insert(at->second);
    std::vector<std::string> result;
    for (const size_t i : used)
      if (result.empty() || result.back() != axioms_[i].name) result.push_back(axioms_[i].name);
    return result;
  }

 private:
  void add_axiom(const Rule& rule) {
    constexpr int kMostRank = 4;
    const auto fits = [&](const RuleExample& example) { return rule_applies(rule, example); };
    std::set<std::string> known;
    for (const RuleExample& example : rule.pattern().examples)
      for (const RuleExample& other :
           verify::with_more_axes(rule.pattern(), example, kMostRank, fits)) {
        const prove::RuleForm form = prove::form_of(rule.pattern(), other);
        if (known.insert(form.key()).second) add_form(rule, form);
      }
  }

  void add_form(const Rule& rule, const prove::RuleForm& form) {
    const prove::RuleTerms terms = prove::terms_of(context_, rule.pattern(), form);
    REVERIE_CHECK(terms.left_out.empty(), "axiom {}: condition {} has no term", rule.name(),
                  terms.left_out[0]);
    std::vector<z3::expr> conclusions, sources, targets;
    for (const auto& [source, target] : terms.outputs) {
      conclusions.push_back(source == target);
      sources.push_back(source);
      targets.push_back(target);
    }
    conclusions.insert(conclusions.end(), terms.facts.begin(), terms.facts.end());
    Axiom axiom{rule.name(),
                context_.bool_val(true),
                side_of(sources, terms.variables),
                side_of(targets, terms.variables),
                {}};
    REVERIE_CHECK(!axiom.left.terms.empty() || !axiom.right.terms.empty(),
                  "axiom {} has no side that names all of it", rule.name());
    const z3::expr body =
        z3::implies(conjunction(context_, terms.conditions), conjunction(context_, conclusions));
    axiom.formula = quantified(context_, terms, body, {&axiom.left, &axiom.right});
    std::set<unsigned> constants;
    for (const z3::expr& term : sources) collect(term, axiom.functions, constants);
    for (const z3::expr& term : targets) collect(term, axiom.functions, constants);
    axioms_.push_back(std::move(axiom));
  }

  /// Those of which a side can stand for terms with these functions, or with what other ones make
  /// of them in up to three steps.
  std::vector<size_t> relevant(Names functions) const {
    constexpr int kSteps = 3;
    std::vector<bool> chosen(axioms_.size(), false);
    const auto occurs = [&](const Side& side) {
      return !side.terms.empty() && std::ranges::includes(functions, side.functions);
    };
    for (int step = 0; step < kSteps; ++step) {
      Names more = functions;
      for (size_t i = 0; i < axioms_.size(); ++i)
        if (!chosen[i] && (occurs(axioms_[i].left) || occurs(axioms_[i].right))) {
          chosen[i] = true;
          more.insert(axioms_[i].functions.begin(), axioms_[i].functions.end());
        }
      functions = std::move(more);
    }
    std::vector<size_t> result;
    for (size_t i = 0; i < chosen.size(); ++i)
      if (chosen[i]) result.push_back(i);
    return result;
  }

  z3::context context_;
  std::vector<Axiom> axioms_;
};

/// One of each form, those of different ranks first.
std::vector<prove::RuleForm> forms_of(const RulePattern& pattern,
                                      const std::vector<RuleExample>& assignments, int most) {
  std::vector<prove::RuleForm> fresh, others;
  std::set<std::string> known;
  std::set<int> ranks;
  for (const RuleExample& assignment : assignments) {
    prove::RuleForm form = prove::form_of(pattern, assignment);
    if (!known.insert(form.key()).second) continue;
    (ranks.insert(form.root_rank).second ? fresh : others).push_back(std::move(form));
  }
  fresh.insert(fresh.end(), others.begin(), others.end());
  fresh.resize(std::min(fresh.size(), static_cast<size_t>(most)));
  return fresh;
}

}  // namespace

AxiomProof prove_by_axioms(const Rule& rule, const std::vector<RuleExample>& assignments,
                           const AxiomProofOptions& options) {
  thread_local AxiomProver prover;
  AxiomProof proof;
  for (const RuleExample& example : assignments)
    for (const auto& [variable, tensors] : example.tensors)
      for (const ExampleTensor& tensor : tensors)
        if (!is_floating(tensor.type.dtype)) {
          proof.not_covered = "the axioms are about floating-point tensors";
          return proof;
        }
  std::map<int, bool> ranks;
  std::set<std::string> used;
  for (const prove::RuleForm& form : forms_of(rule.pattern(), assignments, options.forms)) {
    bool& all = ranks.emplace(form.root_rank, true).first->second;
    if (!all) continue;
    ++proof.forms;
    try {
      const auto names = prover.follows(rule.pattern(), form, options.effort);
      all = all && names.has_value();
      proof.followed += names.has_value();
      if (names) used.insert(names->begin(), names->end());
    } catch (const InputError& error) {
      all = false;
      proof.not_covered = error.what();
    } catch (const z3::exception& error) {
      throw InternalError(fmt::format("Z3: {}", error.msg()));
    }
  }
  for (const auto& [rank, all] : ranks)
    if (all) proof.ranks.push_back(rank);
  if (!proof.proved()) return proof;
  for (int i = 0; i < axioms().size(); ++i)
    if (used.contains(axioms().name(i))) proof.used.push_back(axioms().name(i));
  return proof;
}

}  // namespace reverie
