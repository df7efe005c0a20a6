#include <algorithm>
#include <tuple>
#include <utility>

#include "core/rules/cycle_check.h"
#include "core/rules/rewrite_impl.h"

namespace reverie {

/// Splits the parts of the lists with the least changes until single locations are left.
class RewriteState::Impl::Ranking {
 public:
  explicit Ranking(Impl& impl) : impl_(&impl) {
    const auto lock = impl.lock_matched();
    impl.rank();
    for (int rule = 0; rule < impl.rules->size(); ++rule)
      push(rule, LocationList::Part(impl.lists[static_cast<size_t>(rule)]));
  }

  std::optional<RankedLocation> next() {
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end());
      const Item least = heap_.back();
      heap_.pop_back();
      if (!least.part.empty()) {
        split(least);
      } else if (const std::optional<int> index = index_of(least)) {
        return RankedLocation{least.rule, *index, {least.change}};
      }
    }
    return std::nullopt;
  }

 private:
  /// A part of a rule's list, or one slot where the part is empty.
  struct Item {
    int64_t change;
    int rule;
    int first;  ///< index in the list
    LocationList::Part part;
    int32_t slot = -1;

    bool operator<(const Item& other) const {  // the one that comes first is the greatest
      return std::tie(change, rule, first) > std::tie(other.change, other.rule, other.first);
    }
  };

  void push(const Item& item) {
    heap_.push_back(item);
    std::push_heap(heap_.begin(), heap_.end());
  }
  void push(int rule, const LocationList::Part& part) {
    if (!part.empty()) push(Item{part.least_change(), rule, part.first(), part});
  }

  void split(const Item& item) {
    const LocationList::Part& part = item.part;
    push(item.rule, part.before());
    push(item.rule, part.behind());
    push(Item{part.entry().change, item.rule, part.index(), {}, part.entry().slot});
  }

  /// In `locations`; nothing where the match would close a cycle.
  std::optional<int> index_of(const Item& one) {
    if (!impl_->some_risky(one.rule)) return one.first;
    const auto lock = impl_->lock_matched();
    return impl_->find(impl_->as_match(one.slot));
  }

  Impl* impl_;
  std::vector<Item> heap_;
};

/// From now on the lists hold what matches change.
void RewriteState::Impl::rank() {
  if (std::exchange(ranked, true)) return;
  for (int rule = 0; rule < rules->size(); ++rule) {
    std::vector<LocationList::Entry> entries;
    lists[static_cast<size_t>(rule)].for_each(
        [&](int32_t slot) { entries.push_back(entry_of(slot)); });
    lists.edit(static_cast<size_t>(rule)) = LocationList(entries);
  }
}

std::function<std::optional<RankedLocation>()> RewriteState::ranking() const {
  return [ranking = Impl::Ranking(*impl_)]() mutable { return ranking.next(); };
}

}  // namespace reverie
