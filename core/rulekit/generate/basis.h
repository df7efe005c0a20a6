#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <vector>

#include "core/rulekit/generate/enumerate.h"
#include "core/rulekit/generate/identity.h"

namespace reverie::generate {

/// An order of applications: fewer operators first, then fewer inputs read again, then more inputs,
/// so that what is general comes before its instances.
bool comes_before(const ValueTable& values, const Application& x, const Application& y);

/// What is kept so far, to tell what follows from those of it that are accepted.
class Basis {
 public:
  explicit Basis(const ValueTable& values) : values_(values) {}

  const std::vector<Identity>& identities() const { return identities_; }
  void keep(const Identity& identity);
  /// Applications that have a known value in the enumeration, and for which no accepted identity
  /// says so. No chain leads over them.
  const std::set<Application>& unproved() const { return unproved_; }
  void distrust(const Application& application) { unproved_.insert(application); }
  void clear();

  /// Whether a chain of instances of what is accepted, through graphs of at most one operator more,
  /// turns the candidate's application into the first one of its value, or into one that comes
  /// before it and was not found unproved: that one is equal to the first one.
  bool follows(const Candidate& candidate) const;
  /// Whether the parts of the value `whole` along the axis of `split` are known to be `first` and
  /// `second` by an instance of something accepted that has two outputs.
  bool follows(uint8_t split, ValueId whole, ValueId first, ValueId second) const;

 private:
  static constexpr size_t kMostVariables = 12;
  using Binding = std::array<ValueId, kMostVariables>;
  struct Goal {
    int node;
    ValueId value;
  };
  struct Pattern {
    size_t identity;
    bool reversed;
  };

  template <class Done>
  bool match(const Identity& identity, std::vector<Goal>& goals, Binding& binding, Done done) const;
  template <class Done>
  bool match_application(const Identity& identity, int node, const Application& application,
                         std::vector<Goal>& goals, Binding& binding, Done done) const;
  /// Calls visit(result) for what single instances make of an application; true ends.
  template <class Visit>
  bool any_instance(const Application& application, Visit visit) const;
  bool is_well_formed(const Application& application) const;
  ValueId resolve(const Identity& identity, int node, const Binding& binding) const;
  bool resolve_root(const Identity& identity, int node, const Binding& binding,
                    Application& result) const;

  const ValueTable& values_;
  std::vector<Identity> identities_;
  std::set<Application> unproved_;
  std::array<std::vector<Pattern>, 256> by_operator_;
  std::vector<size_t> of_two_outputs_;
};

}  // namespace reverie::generate
