#pragma once

#include <cstdint>
#include <optional>

#include "env/environment.h"

namespace reverie::python {

/// Every action of an environment as one number, for spaces that are flat. A primary action has the
/// same count of numbers, its slots, in every state:
///
///     number = primary * slots + slot, and NO-OP is the last number
///
/// Where the mask is 0 or 1 (EnvSpec::max_choices is 1) a slot is an entity, so that a number means
/// the same in every state. Elsewhere slot n is the n-th choice of ActionMask::choice, entity by
/// entity, and choices from the slots on have no number.
class ActionNumbers {
 public:
  /// `entities`: the most that a start state has; `max_choices`: slots where choices are counted.
  ActionNumbers(const EnvSpec& spec, int entities, int max_choices);

  int size() const { return no_op_ * slots_ + 1; }
  int slots() const { return slots_; }
  /// Nothing where the mask does not allow it.
  std::optional<Action> action(const ActionMask& mask, int64_t number) const;
  /// Nothing where the mask does not allow it, or it has no number.
  std::optional<int> number(const ActionMask& mask, const Action& action) const;
  /// The mask without the choices that have no number.
  ActionMask numbered(ActionMask mask) const;
  /// Calls visit(number, action) for all that the mask allows, in the order of their numbers.
  template <class Visit>
  void visit(const ActionMask& mask, Visit&& visit) const {
    for (int primary = 0; primary < no_op_; ++primary) {
      int number = primary * slots_;
      const int end = number + slots_;
      for (int entity = 0; entity < mask.entities && number < end; ++entity) {
        const int count = mask.at(primary, entity);
        for (int index = 0; index < count && number < end; ++index)
          visit(are_entities_ ? primary * slots_ + entity : number++,
                Action{primary, entity, index});
      }
    }
    visit(no_op_ * slots_, Action{no_op_, 0, 0});
  }

 private:
  int no_op_;
  bool are_entities_;
  int slots_;
};

}  // namespace reverie::python
