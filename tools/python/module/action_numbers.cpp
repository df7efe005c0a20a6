#include "tools/python/module/action_numbers.h"

#include <algorithm>

namespace reverie::python {

ActionNumbers::ActionNumbers(const EnvSpec& spec, int entities, int max_choices)
    : no_op_(spec.no_op()),
      are_entities_(spec.max_choices == 1),
      slots_(are_entities_ ? entities : std::min(max_choices, spec.max_choices * entities)) {}

std::optional<Action> ActionNumbers::action(const ActionMask& mask, int64_t number) const {
  if (number < 0 || number >= size()) return std::nullopt;
  if (number == size() - 1) return Action{no_op_, 0, 0};
  const auto primary = static_cast<int>(number / slots_), slot = static_cast<int>(number % slots_);
  if (!are_entities_)
    return slot < mask.total(primary) ? std::optional(mask.choice(primary, slot)) : std::nullopt;
  const Action action{primary, slot, 0};
  return mask.allows(action) ? std::optional(action) : std::nullopt;
}

std::optional<int> ActionNumbers::number(const ActionMask& mask, const Action& action) const {
  if (!mask.allows(action)) return std::nullopt;
  if (action.primary == no_op_) return size() - 1;
  const int slot = are_entities_ ? action.entity : mask.number(action);
  return slot < slots_ ? std::optional(action.primary * slots_ + slot) : std::nullopt;
}

ActionMask ActionNumbers::numbered(ActionMask mask) const {
  if (are_entities_) return mask;
  for (int primary = 0; primary < no_op_; ++primary) {
    int left = slots_;
    for (int entity = 0; entity < mask.entities; ++entity) {
      uint16_t& count = mask.at(primary, entity);
      count = static_cast<uint16_t>(std::min<int>(count, left));
      left -= count;
    }
  }
  return mask;
}

}  // namespace reverie::python
