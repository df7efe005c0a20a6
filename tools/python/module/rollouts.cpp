#include "tools/python/module/rollouts.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "datasets/rollouts.h"
#include "env/spec_json.h"
#include "tools/python/module/action_numbers.h"
#include "tools/python/module/arrays.h"

namespace reverie::python {
namespace {

constexpr const char* kSplits[] = {"train", "validation", "test"};

/// A rollout directory whose actions have numbers.
class RolloutReader {
 public:
  RolloutReader(const std::string& directory, int max_choices)
      : rollouts_(Rollouts::open(directory)),
        entities_(most_entities()),
        numbers_(spec(), entities_, max_choices),
        layout_(spec()) {
    if (max_choices < 1) throw InputError("max_choices is {}; it must be at least 1", max_choices);
  }

  const EnvSpec& spec() const { return rollouts_.info().spec; }
  const std::string& config() const { return rollouts_.info().config; }
  int actions() const { return numbers_.size(); }
  int entities() const { return entities_; }
  int size() const { return static_cast<int>(rollouts_.episodes().size()); }
  std::vector<int> episodes_in(const std::string& split) const {
    const auto known = std::ranges::find(kSplits, split);
    if (known == std::end(kSplits))
      throw InputError("there is no split '{}'; there are train, validation and test", split);
    const auto wanted = static_cast<Split>(known - std::begin(kSplits));
    std::vector<int> episodes;
    for (int episode = 0; episode < size(); ++episode)
      if (rollouts_.split(episode) == wanted) episodes.push_back(episode);
    return episodes;
  }
  py::dict graph(int state) const;
  py::dict episode(int number) const;

 private:
  /// Of the states that episodes begin at; it stays the same within an episode.
  int most_entities() const {
    int most = 1;
    for (const Episode& episode : rollouts_.episodes())
      most = std::max(most, rollouts_.state(first_state(episode)).mask.entities);
    return most;
  }
  static int first_state(const Episode& episode) {
    return episode.steps.empty() ? episode.final_state : episode.steps.front().state;
  }

  Rollouts rollouts_;
  int entities_;
  ActionNumbers numbers_;
  ArrayLayout layout_;
};

py::dict RolloutReader::graph(int state) const {
  Observation observation;
  {
    const py::gil_scoped_release release;
    observation = rollouts_.state(state);
  }
  const Observation* const alone = &observation;
  GraphArrays arrays(layout_, numbers_, {&alone, 1}, false);
  arrays.write(0);
  return arrays.dict();
}

template <class T, class Value>
py::array_t<T> array_of(size_t size, const Value& value) {
  py::array_t<T> array(static_cast<py::ssize_t>(size));
  for (size_t i = 0; i < size; ++i) array.mutable_at(i) = static_cast<T>(value(i));
  return array;
}

py::dict RolloutReader::episode(int number) const {
  using namespace py::literals;
  const Episode& one = rollouts_.episodes().at(static_cast<size_t>(number));
  const size_t steps = one.steps.size();
  const auto state = [&](size_t i) { return i < steps ? one.steps[i].state : one.final_state; };
  const auto numbered = [&](size_t i) {
    return numbers_.number(rollouts_.state(one.steps[i].state).mask, one.steps[i].action)
        .value_or(-1);
  };
  py::array_t<int64_t> named(std::vector<py::ssize_t>{static_cast<py::ssize_t>(steps), 3});
  for (size_t i = 0; i < steps; ++i) {
    const Action& action = one.steps[i].action;
    named.mutable_at(i, 0) = action.primary;
    named.mutable_at(i, 1) = action.entity;
    named.mutable_at(i, 2) = action.index;
  }
  const auto step = [&](auto member) {
    return [&one, member](size_t i) { return one.steps[i].*member; };
  };
  return py::dict(
      "id"_a = number, "seed"_a = one.seed, "agent"_a = one.agent,
      "start"_a = spec().starts[static_cast<size_t>(one.start_graph)].name,
      "split"_a = kSplits[static_cast<size_t>(rollouts_.split(number))],
      "states"_a = array_of<int64_t>(steps + 1, state),
      "actions"_a = array_of<int64_t>(steps, numbered), "named_actions"_a = named,
      "rewards"_a = array_of<double>(steps, step(&Transition::reward)),
      "terminations"_a = array_of<bool>(steps, step(&Transition::terminated)),
      "truncations"_a = array_of<bool>(steps, step(&Transition::truncated)),
      "infos"_a = py::dict(
          "objective"_a = array_of<double>(steps + 1, [&](size_t i) { return one.objective[i]; }),
          "feasible"_a = array_of<bool>(steps + 1, [&](size_t i) { return one.feasible_at(i); })));
}

}  // namespace

void bind_rollouts(py::module_& module) {
  using Reader = RolloutReader;
  py::class_<Reader>(module, "RolloutReader", "Episodes on disk.")
      .def(py::init<const std::string&, int>(), py::arg("directory"), py::arg("max_choices"),
           py::call_guard<py::gil_scoped_release>())
      .def_property_readonly("spec_json",
                             [](const Reader& one) { return spec_to_json(one.spec()).dump(); })
      .def_property_readonly("config", &Reader::config)
      .def_property_readonly("actions", &Reader::actions)
      .def_property_readonly("entities", &Reader::entities)
      .def("__len__", &Reader::size)
      .def("episodes_in", &Reader::episodes_in, py::arg("split"))
      .def("episode", &Reader::episode, py::arg("number"))
      .def("graph", &Reader::graph, py::arg("state"));
}

}  // namespace reverie::python
