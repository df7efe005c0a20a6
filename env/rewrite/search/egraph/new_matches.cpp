#include "env/rewrite/search/egraph/new_matches.h"

#include <algorithm>

namespace reverie {

NewMatches::NewMatches(const EGraph& egraph, const MatchProgram& program)
    : egraph_(egraph),
      program_(program),
      index_(program.sought_anywhere()),
      matcher_(egraph.graph(), &egraph, &index_),
      changes_(all_ops().size()) {
  for (const MatchRule& rule : program.rules()) {
    std::vector<Place>& places = places_.emplace_back();
    for (const SourceOp& op : rule.pattern->source) places.push_back({op.op, {}, false, 0});
    for (const MappedOutput& output : rule.pattern->outputs) {
      const int producer = rule.pattern->values[static_cast<size_t>(output.source)].producer;
      places[static_cast<size_t>(producer)].replaced = true;
    }
  }
  for (const OpSchema& op : all_ops())
    for (const MatchProgram::Anchor& anchor : program.anchors(op))
      places_[static_cast<size_t>(anchor.rule)][static_cast<size_t>(anchor.op)].needed =
          anchor.needed;
}

Neighbours NewMatches::neighbours(NodeId node) const {
  const Graph& graph = egraph_.graph();
  Neighbours result;
  for (const ValueId input : graph.inputs(node))
    if (input.valid())
      for (const NodeId producer : egraph_.producers(input))
        result.producers |= Neighbours::bit(graph.op(producer));
  for (const ValueId output : egraph_.outputs(node))
    for (const NodeId user : graph.users(output)) result.users |= Neighbours::bit(graph.op(user));
  return result;
}

void NewMatches::note(std::span<const NodeId> changed) {
  last_change_.resize(static_cast<size_t>(egraph_.graph().node_capacity()), -1);
  for (const NodeId node : changed) {
    int64_t& last = last_change_[static_cast<size_t>(node.index)];
    if (last < 0) index_.add(egraph_.graph(), node);
    last = count_;
    changes_[static_cast<size_t>(egraph_.graph().op(node).id)].push_back(
        {node, count_++, neighbours(node)});
  }
}

bool NewMatches::concerns(const Change& change, const Place& place) const {
  return last_change(change.node) == change.number && egraph_.alive(change.node) &&
         change.neighbours.include(place.needed);
}

void NewMatches::look_on(int rule, int64_t most_tries, const std::function<bool()>& stop,
                         const Matcher::Sink& sink) {
  constexpr int64_t kBetweenQuestions = 256;
  std::vector<Place>& places = places_[static_cast<size_t>(rule)];
  const auto at = std::find_if(places.begin(), places.end(), [&](const Place& place) {
    return place.next < changes(place).size();
  });
  if (at == places.end()) return;
  const Change& change = changes(*at)[at->next++];
  if (!concerns(change, *at)) return;
  int64_t tries = 0;
  bool given_up = false;
  matcher_.find(
      program_.rules()[static_cast<size_t>(rule)], static_cast<int>(at - places.begin()),
      change.node,
      [&](int op, NodeId node) {
        ++tries;
        given_up |= tries > most_tries || (++tried_ % kBetweenQuestions == 0 && stop());
        return !given_up && egraph_.alive(node) && last_change(node) <= change.number &&
               !(places[static_cast<size_t>(op)].replaced && egraph_.graph().is_constant(node));
      },
      sink);
  gave_up_ |= given_up;
}

bool NewMatches::done(int rule) const {
  const std::vector<Place>& places = places_[static_cast<size_t>(rule)];
  return std::all_of(places.begin(), places.end(),
                     [&](const Place& place) { return place.next >= changes(place).size(); });
}

}  // namespace reverie
