#include "tools/python/module/vector.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <utility>

#include "core/base/error.h"

namespace reverie::python {

/// What is told of states, as arrays with a row for each slot.
class NumberedVector::Infos {
 public:
  Infos(const EnvSpec& spec, int slots)
      : spec_(spec),
        start_(zeros<int64_t>({slots})),
        objective_(zeros<double>({slots})),
        best_(zeros<double>({slots})),
        metrics_(zeros<double>({slots, std::ssize(spec.metrics)})),
        feasible_(zeros<bool>({slots})),
        invalid_(zeros<bool>({slots})) {}

  void write(int row, const Shown& shown) {
    start_.mutable_at(row) = shown.start;
    objective_.mutable_at(row) = shown.info.objective(spec_);
    best_.mutable_at(row) = shown.info.best;
    feasible_.mutable_at(row) = shown.info.feasible;
    invalid_.mutable_at(row) = shown.invalid;
    std::ranges::copy(shown.info.metrics, metrics_.mutable_data(row, 0));
  }

  py::dict dict() const {
    using namespace py::literals;
    return py::dict("start"_a = start_, "objective"_a = objective_, "best"_a = best_,
                    "feasible"_a = feasible_, "metrics"_a = metrics_,
                    "invalid_action"_a = invalid_);
  }

 private:
  template <class T>
  static py::array_t<T> zeros(const std::vector<py::ssize_t>& shape) {
    py::array_t<T> array(shape);
    std::fill_n(array.mutable_data(), array.size(), T{});
    return array;
  }

  const EnvSpec& spec_;
  py::array_t<int64_t> start_;
  py::array_t<double> objective_, best_, metrics_;
  py::array_t<bool> feasible_, invalid_;
};

NumberedVector::NumberedVector(const NumberedEnvironment& prototype, int slots, int workers,
                               bool padded, Autoreset autoreset)
    : origin_(prototype.origin()),
      numbers_(prototype.numbers()),
      layout_(prototype.layout()),
      padded_(padded),
      autoreset_(autoreset),
      pool_(workers) {
  for (int slot = 0; slot < slots; ++slot)
    slots_.push_back({.environment = prototype.environment().fork()});
}

void NumberedVector::begin(Slot& slot, uint64_t seed) const {
  slot.environment->reset(seed);
  slot.terminated = slot.truncated = false;
  slot.began = true;
  slot.shown = {slot.environment->observe(), slot.environment->info(),
                static_cast<int>(seed % static_cast<uint64_t>(spec().start_states())), false};
}

void NumberedVector::advance(Slot& slot, int64_t number, uint64_t seed) const {
  slot.reward = 0;
  slot.began = false;
  slot.ended.reset();
  if (slot.over()) return begin(slot, seed);
  const auto action = action_of(slot, number);
  slot.shown.invalid = !action;
  if (!action) return;
  StepResult result = slot.environment->step(*action);
  slot.reward = result.reward;
  slot.terminated = result.terminated;
  slot.truncated = result.truncated;
  slot.shown.observation = slot.environment->observe();
  slot.shown.info = std::move(result.info);
  if (!slot.over() || autoreset_ != Autoreset::kSameStep) return;
  const bool terminated = slot.terminated, truncated = slot.truncated;
  slot.ended = std::move(slot.shown);
  begin(slot, seed);
  slot.terminated = terminated;
  slot.truncated = truncated;
}

void NumberedVector::check(std::span<const int64_t> actions, bool strict) const {
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].shown.start < 0) throw InputError("reset comes before the first step");
    const bool waits = slots_[i].over() && autoreset_ != Autoreset::kSameStep;
    if (waits && autoreset_ == Autoreset::kDisabled)
      throw InputError("the episode of environment {} is over; reset it with reset_mask", i);
    if (strict && !waits && !action_of(slots_[i], actions[i]))
      throw InputError("action {} is not valid in environment {}; see the action mask", actions[i],
                       i);
  }
}

py::dict NumberedVector::dict_of(const Observation& observation) const {
  if (padded_) {
    PaddedArrays arrays(layout_, numbers_, 0);
    arrays.write(0, observation);
    return arrays.dict();
  }
  const Observation* const alone = &observation;
  GraphArrays arrays(layout_, numbers_, {&alone, 1}, false);
  arrays.write(0);
  return arrays.dict();
}

py::dict NumberedVector::observations(const std::function<void(size_t slot)>& advance) {
  const auto for_all = [&](const auto& work) {
    const py::gil_scoped_release release;
    pool_.run(slots_.size(), [&](size_t i, int) { work(i); });
  };
  if (padded_) {
    PaddedArrays arrays(layout_, numbers_, size());
    for_all([&](size_t i) {
      advance(i);
      arrays.write(static_cast<int>(i), slots_[i].shown.observation);
    });
    return arrays.dict();
  }
  for_all(advance);
  std::vector<const Observation*> all;
  for (const Slot& slot : slots_) all.push_back(&slot.shown.observation);
  GraphArrays arrays(layout_, numbers_, all, true);
  for_all([&](size_t i) { arrays.write(static_cast<int>(i)); });
  return arrays.dict();
}

py::tuple NumberedVector::finals() const {
  Infos infos(spec(), size());
  py::list last;
  for (int row = 0; row < size(); ++row) {
    const std::optional<Shown>& ended = at(row).ended;
    last.append(ended ? py::object(dict_of(ended->observation)) : py::none());
    if (ended) infos.write(row, *ended);
  }
  return py::make_tuple(last, infos.dict());
}

py::tuple NumberedVector::reset(std::span<const int64_t> seeds, std::span<const bool> chosen) {
  REVERIE_CHECK(seeds.size() == slots_.size() && chosen.size() == slots_.size());
  const py::dict observed = observations([&](size_t i) {
    slots_[i].ended.reset();
    if (chosen[i]) begin(slots_[i], static_cast<uint64_t>(seeds[i]));
  });
  Infos infos(spec(), size());
  for (int row = 0; row < size(); ++row)
    if (chosen[static_cast<size_t>(row)]) infos.write(row, at(row).shown);
  return py::make_tuple(observed, infos.dict());
}

py::tuple NumberedVector::step(std::span<const int64_t> actions, std::span<const int64_t> seeds,
                               bool strict) {
  REVERIE_CHECK(actions.size() == slots_.size() && seeds.size() == slots_.size());
  check(actions, strict);
  const py::dict observed = observations([&](size_t i) {
    if (autoreset_ == Autoreset::kSameStep) slots_[i].terminated = slots_[i].truncated = false;
    advance(slots_[i], actions[i], static_cast<uint64_t>(seeds[i]));
  });
  Infos infos(spec(), size());
  py::array_t<double> rewards(size());
  py::array_t<bool> terminated(size()), truncated(size()), began(size());
  bool any_ended = false;
  for (int row = 0; row < size(); ++row) {
    const Slot& slot = at(row);
    infos.write(row, slot.shown);
    rewards.mutable_at(row) = slot.reward;
    terminated.mutable_at(row) = slot.terminated;
    truncated.mutable_at(row) = slot.truncated;
    began.mutable_at(row) = slot.began;
    any_ended |= slot.ended.has_value();
  }
  return py::make_tuple(observed, rewards, terminated, truncated, infos.dict(), began,
                        any_ended ? py::object(finals()) : py::none());
}

EpisodeSolution NumberedVector::solution(int slot) const {
  return {origin_, at(slot).shown.start, *at(slot).environment};
}

namespace {

using Numbers = py::array_t<int64_t, py::array::c_style | py::array::forcecast>;

template <class Array>
auto span_of(const Array& array) {
  return std::span(array.data(), static_cast<size_t>(array.size()));
}

}  // namespace

void bind_vector(py::module_& module) {
  using Vector = NumberedVector;
  py::enum_<Autoreset>(module, "Autoreset", "When the episode that follows begins.")
      .value("NEXT_STEP", Autoreset::kNextStep)
      .value("SAME_STEP", Autoreset::kSameStep)
      .value("DISABLED", Autoreset::kDisabled);
  py::class_<Vector>(module, "VectorEnvironment", "Environments that step together on threads.")
      .def(py::init<const NumberedEnvironment&, int, int, bool, Autoreset>(), py::arg("prototype"),
           py::arg("slots"), py::arg("workers"), py::arg("padded"), py::arg("autoreset"))
      .def(
          "reset",
          [](Vector& one, const Numbers& seeds, const py::array_t<bool>& chosen) {
            return one.reset(span_of(seeds), span_of(chosen));
          },
          py::arg("seeds"), py::arg("chosen"))
      .def(
          "step",
          [](Vector& one, const Numbers& actions, const Numbers& seeds, bool strict) {
            return one.step(span_of(actions), span_of(seeds), strict);
          },
          py::arg("actions"), py::arg("seeds"), py::arg("strict"))
      .def("describe", &Vector::describe, py::arg("slot"))
      .def("solution", &Vector::solution, py::arg("slot"));
}

}  // namespace reverie::python
