#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <span>
#include <vector>

#include "env/environment.h"
#include "tools/python/module/action_numbers.h"

namespace reverie::python {

namespace py = pybind11;

/// Beyond it features are cut off, so that the boxes of a space have finite bounds.
inline constexpr float kFeatureBound = 1e6f;

/// What a state is as arrays, whatever it holds.
struct ArrayLayout {
  int node_features = 0, edge_features = 0, action_features = 0;
  int max_nodes = 0, max_edges = 0;  ///< of padded arrays

  explicit ArrayLayout(const EnvSpec& spec);
};

/// States as arrays of fixed sizes. What a state has not is 0; nodes and edges that do not fit are
/// left out. Arrays are allocated and handed over with the interpreter lock; `write` needs none,
/// and may be called for different rows at the same time.
class PaddedArrays {
 public:
  /// `rows`: of a batch; 0: of one state, without the axis of a batch.
  PaddedArrays(const ArrayLayout& layout, const ActionNumbers& numbers, int rows);
  /// Returns how many nodes were left out.
  int write(int row, const Observation& observation);
  py::dict dict() const;

 private:
  void write_nodes(int row, const GraphFeatures& graph, int kept);
  void write_edges(int row, const GraphFeatures& graph, int kept);
  void write_actions(int row, const Observation& observation);
  template <class T>
  py::array_t<T> array(std::vector<py::ssize_t> shape) const;

  ArrayLayout layout_;
  ActionNumbers numbers_;
  int rows_;
  py::array_t<float> x_, edge_attr_, action_attr_;
  py::array_t<int64_t> node_type_, node_entity_, edge_index_;
  py::array_t<int8_t> node_mask_, edge_mask_, action_mask_;
};

/// States as arrays of their own sizes, one behind the other: nodes, entities and edges count on
/// from state to state. As PaddedArrays, `write` needs no interpreter lock.
class GraphArrays {
 public:
  /// `batch`: with the numbers of the states that nodes and actions belong to. The observations
  /// must outlive this.
  GraphArrays(const ArrayLayout& layout, const ActionNumbers& numbers,
              std::span<const Observation* const> observations, bool batch);
  void write(int row);
  py::dict dict() const;

 private:
  ArrayLayout layout_;
  ActionNumbers numbers_;
  std::vector<const Observation*> observations_;
  bool batch_;
  std::vector<int64_t> nodes_, edges_, entities_, choices_;  ///< before each state, and in all
  py::array_t<float> x_, edge_attr_, action_attr_;
  py::array_t<int64_t> node_type_, node_entity_, edge_index_, actions_;
  py::array_t<int64_t> node_batch_, action_batch_, ptr_;
  py::array_t<int8_t> action_mask_;
};

}  // namespace reverie::python
