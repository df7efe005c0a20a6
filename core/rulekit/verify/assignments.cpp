#include "core/rulekit/verify/assignments.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>

#include "core/base/error.h"
#include "core/rules/example.h"

namespace reverie::verify {
namespace {

/// A number that an assignment may change: an extent of a variable's tensor, or an integer of an
/// attribute.
struct Slot {
  bool extent = false;
  int index = 0;    ///< pattern value, or source operator
  size_t part = 0;  ///< tensor of the sequence, or attribute
  size_t axis = 0;  ///< or the place in a list
};

int64_t& at(RuleExample& example, const Slot& slot) {
  if (slot.extent) return example.tensors.at(slot.index)[slot.part].type.shape[slot.axis];
  AttrValue& value = example.attributes.at(slot.index)[slot.part].second;
  if (auto* list = std::get_if<std::vector<int64_t>>(&value)) return (*list)[slot.axis];
  return std::get<int64_t>(value);
}

std::vector<Slot> slots_of(const RuleExample& example) {
  std::vector<Slot> slots;
  for (const auto& [value, tensors] : example.tensors)
    for (size_t i = 0; i < tensors.size(); ++i)
      for (size_t axis = 0; axis < tensors[i].type.shape.size(); ++axis)
        slots.push_back({true, value, i, axis});
  for (const auto& [op, attributes] : example.attributes)
    for (size_t i = 0; i < attributes.size(); ++i) {
      const AttrValue& value = attributes[i].second;
      if (std::holds_alternative<int64_t>(value)) slots.push_back({false, op, i, 0});
      if (const auto* list = std::get_if<std::vector<int64_t>>(&value))
        for (size_t j = 0; j < list->size(); ++j) slots.push_back({false, op, i, j});
    }
  return slots;
}

/// A change of some slots at once: times `factor`, plus `summand`.
struct Step {
  std::vector<Slot> slots;
  int64_t factor = 1;
  int64_t summand = 0;

  void take(RuleExample& example) const {
    for (const Slot& slot : slots) {
      int64_t& number = at(example, slot);
      number = number * factor + summand;
    }
  }
};

class Walk {
 public:
  using Applies = std::function<bool(const RuleExample&)>;
  Walk(const RulePattern& pattern, RuleExample start, const Applies& applies, Rng rng)
      : pattern_(pattern), current_(std::move(start)), applies_(applies), rng_(rng) {
    seen_.insert(text_of(pattern_, current_));
    state_attributes();
    seen_.insert(text_of(pattern_, current_));
  }

  std::vector<RuleExample> run(int count) {
    std::vector<RuleExample> found = with_other_ranks(count / 3);
    add_other_choices(found, count / 6);
    const std::vector<Step> steps = possible_steps();
    for (int tries = 0; static_cast<int>(found.size()) < count && tries < 6 * count; ++tries) {
      RuleExample next = current_;
      for (uint64_t i = 1 + rng_.below(6); i > 0 && !steps.empty(); --i)
        steps[rng_.below(steps.size())].take(next);
      if (rng_.below(4) == 0) change_choices(next);
      if (!is_new(next)) continue;
      current_ = next;
      found.push_back(std::move(next));
    }
    return found;
  }

  std::vector<RuleExample> more_axes(int most_rank) {
    std::vector<RuleExample> found = {current_};
    for (size_t at = 0; at < found.size(); ++at) {
      current_ = found[at];
      for (const int least : {0, 1, 2})
        for (const bool front : {true, false}) {
          RuleExample next = current_;
          RankChange{values_of_rank(least), front, true, 2}.take(next);
          int widest = 0;
          for (const auto& [value, tensors] : next.tensors)
            for (const ExampleTensor& tensor : tensors)
              widest = std::max(widest, tensor.type.rank());
          if (widest <= most_rank && is_new(next)) found.push_back(std::move(next));
        }
    }
    return found;
  }

 private:
  /// Attributes that the example leaves to their defaults are written out, so that they can change.
  void state_attributes() {
    ExampleParts parts;
    const Graph graph = build_example(pattern_, current_, 1, &parts);
    for (size_t op = 0; op < pattern_.source.size(); ++op) {
      auto& stated = current_.attributes[static_cast<int>(op)];
      for (const auto& [name, value] : graph.attributes(parts.nodes[op]).entries()) {
        const auto same = [&, &name = name](const auto& entry) { return entry.first == name; };
        const auto& fixed = pattern_.source[op].attributes;
        if (std::none_of(stated.begin(), stated.end(), same) &&
            std::none_of(fixed.begin(), fixed.end(), same))
          stated.emplace_back(name, value);
      }
    }
  }

  static bool fits(const RuleExample& example) {
    int64_t elements = 0;
    for (const auto& [value, tensors] : example.tensors)
      for (const ExampleTensor& tensor : tensors) {
        if (tensor.type.rank() > 6) return false;
        for (const int64_t extent : tensor.type.shape)
          if (extent < 1 || extent > 64) return false;
        elements += tensor.type.elements();
      }
    return elements <= kMostTrialElements;
  }

  /// Whether the rule applies to it and it was not seen before.
  bool is_new(const RuleExample& example) {
    return fits(example) && seen_.insert(text_of(pattern_, example)).second && applies_(example);
  }

  bool possible(const Step& step) const {
    RuleExample next = current_;
    step.take(next);
    return fits(next) && applies_(next);
  }

  /// Adds the step and its way back when it can be taken, either way.
  bool add(std::vector<Step>& steps, std::vector<Slot> slots, int64_t factor, int64_t summand) {
    const Step there{slots, factor, summand};
    const Step back{std::move(slots), 1, -summand};
    if (!possible(there) && (summand == 0 || !possible(back))) return false;
    steps.push_back(there);
    if (summand != 0) steps.push_back(back);
    return true;
  }

  std::vector<Step> possible_steps() {
    std::vector<Step> steps;
    std::vector<Slot> tied;
    for (const Slot& slot : slots_of(current_)) {
      const bool grows = add(steps, {slot}, 1, 1);
      add(steps, {slot}, 2, 0);
      if (!grows) tied.push_back(slot);
    }
    for (size_t i = 0; i < tied.size(); ++i)
      for (size_t j = i + 1; j < tied.size(); ++j) {
        add(steps, {tied[i], tied[j]}, 1, 1);
        add(steps, {tied[i], tied[j]}, 2, 0);
      }
    std::map<int64_t, std::vector<Slot>> equal;
    for (const Slot& slot : tied) equal[at(current_, slot)].push_back(slot);
    for (const auto& [value, slots] : equal) {
      if (slots.size() < 3) continue;
      add(steps, slots, 1, 1);
      add(steps, slots, 2, 0);
      std::vector<Slot> extents;
      std::copy_if(slots.begin(), slots.end(), std::back_inserter(extents),
                   [](const Slot& slot) { return slot.extent; });
      if (extents.size() < slots.size()) add(steps, extents, 1, 1);
    }
    return steps;
  }

  /// Tensors get an axis of extent `extent` in front or at the end, or lose theirs.
  struct RankChange {
    std::set<int> values;  ///< whose tensors
    bool front;
    bool grow;
    int64_t extent;

    void take(RuleExample& example) const {
      for (const int value : values)
        for (ExampleTensor& tensor : example.tensors.at(value))
          change_list(tensor.type.shape, front, grow, extent);
      for (auto& [op, attributes] : example.attributes)
        for (auto& [name, value] : attributes) change_attribute(name, value, front, grow, extent);
    }
  };

  std::set<int> values_of_rank(int least) const {
    std::set<int> group;
    for (const auto& [value, tensors] : current_.tensors)
      if (!tensors.empty() && tensors[0].type.rank() >= least) group.insert(value);
    return group;
  }

  /// Those of at least some rank change together, or one, or two.
  std::vector<std::set<int>> groups_of_values() const {
    std::vector<std::set<int>> groups;
    const auto add_group = [&](std::set<int> group) {
      if (!group.empty() && std::ranges::find(groups, group) == groups.end())
        groups.push_back(std::move(group));
    };
    for (const int least : {0, 1, 2, 3, 4}) add_group(values_of_rank(least));
    for (const auto& [a, unused] : current_.tensors)
      for (const auto& [b, unused_too] : current_.tensors) add_group({a, b});
    return groups;
  }

  std::vector<RuleExample> with_other_ranks(int count) {
    std::vector<RankChange> changes;
    for (const std::set<int>& group : groups_of_values())
      for (const bool front : {true, false})
        for (const bool grow : {true, false})
          changes.push_back({group, front, grow, 1 + static_cast<int64_t>(rng_.below(3))});
    std::shuffle(changes.begin(), changes.end(), rng_);
    std::vector<RuleExample> found;
    for (const RankChange& change : changes) {
      RuleExample next = current_;
      for (int times = 0; times < 2 && static_cast<int>(found.size()) < count; ++times) {
        change.take(next);
        if (!is_new(next)) break;
        found.push_back(next);
      }
    }
    return found;
  }

  static void change_list(std::vector<int64_t>& list, bool front, bool grow, int64_t number) {
    if (grow)
      list.insert(front ? list.begin() : list.end(), number);
    else if (!list.empty())
      list.erase(front ? list.begin() : list.end() - 1);
  }

  static void change_attribute(const std::string& name, AttrValue& value, bool front, bool grow,
                               int64_t extent) {
    const int64_t shift = front ? (grow ? 1 : -1) : 0;
    if (auto* axis = std::get_if<int64_t>(&value); axis != nullptr && name == "axis")
      *axis += shift;
    auto* list = std::get_if<std::vector<int64_t>>(&value);
    if (list == nullptr) return;
    if (name == "axes" || name == "perm")
      for (int64_t& axis : *list) axis += shift;
    if (name == "perm")
      change_list(*list, front, grow, front ? 0 : static_cast<int64_t>(list->size()));
    if (name == "shape") change_list(*list, front, grow, extent);
    if (name == "strides" || name == "dilations" || name == "kernel_shape")
      change_list(*list, false, grow, 1);
    if (name != "pads") return;
    const auto half = static_cast<int64_t>(list->size() / 2);
    std::vector<int64_t> begin(list->begin(), list->begin() + half);
    std::vector<int64_t> end(list->begin() + half, list->end());
    change_list(begin, front, grow, 0);
    change_list(end, front, grow, 0);
    *list = std::move(begin);
    list->insert(list->end(), end.begin(), end.end());
  }

  void add_other_choices(std::vector<RuleExample>& found, int count) {
    for (int tries = 0; count > 0 && tries < 8 * count; ++tries) {
      RuleExample next = current_;
      change_choices(next);
      if (!is_new(next)) continue;
      found.push_back(std::move(next));
      --count;
    }
  }

  /// Activations and the order of axes, of some operators or of all alike.
  void change_choices(RuleExample& example) {
    static constexpr const char* kActivations[] = {"none", "relu", "sigmoid", "tanh"};
    const std::string activation = kActivations[rng_.below(4)];
    const Rng order(rng_.bits());
    const bool everywhere = rng_.below(2) == 0;
    for (auto& [op, attributes] : example.attributes)
      for (auto& [name, value] : attributes) {
        if (!everywhere && rng_.below(2) == 0) continue;
        if (name == "activation") value = activation;
        if (name != "perm") continue;
        auto& axes = std::get<std::vector<int64_t>>(value);
        std::shuffle(axes.begin(), axes.end(), Rng(order));
      }
  }

  const RulePattern& pattern_;
  RuleExample current_;
  const Applies& applies_;
  Rng rng_;
  std::set<std::string> seen_;
};

std::string text_of(const ExampleTensor& tensor) {
  std::string text = tensor.constant ? "const " : "";
  if (tensor.type.dtype != DType::kFloat32) text += fmt::format("{} ", name_of(tensor.type.dtype));
  text += fmt::format("[{}]", fmt::join(tensor.type.shape, ", "));
  return tensor.filled ? fmt::format("{} = {}", text, tensor.value) : text;
}

}  // namespace

std::string text_of(const RulePattern& pattern, const RuleExample& example) {
  std::vector<std::string> parts;
  for (const auto& [value, tensors] : example.tensors) {
    std::vector<std::string> texts;
    for (const ExampleTensor& tensor : tensors) texts.push_back(text_of(tensor));
    const PatternValue& named = pattern.values[static_cast<size_t>(value)];
    const std::string all = fmt::format("{}", fmt::join(texts, ", "));
    parts.push_back(fmt::format("{}: {}", named.name, named.sequence ? "(" + all + ")" : all));
  }
  for (const auto& [op, attributes] : example.attributes) {
    const SourceOp& source = pattern.source[static_cast<size_t>(op)];
    std::string name = pattern.values[static_cast<size_t>(source.outputs[0])].name;
    if (name.empty()) name = source.op->name;
    for (const auto& [attribute, value] : attributes)
      parts.push_back(fmt::format("{}.{} = {}", name, attribute, to_string(value)));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::vector<RuleExample> vary(const RulePattern& pattern, const RuleExample& example, int count,
                              Rng rng, const std::function<bool(const RuleExample&)>& applies) {
  return Walk(pattern, example, applies, rng).run(count);
}

std::vector<RuleExample> with_more_axes(const RulePattern& pattern, const RuleExample& example,
                                        int most_rank,
                                        const std::function<bool(const RuleExample&)>& applies) {
  return Walk(pattern, example, applies, Rng(1)).more_axes(most_rank);
}

}  // namespace reverie::verify
