#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace reverie {

/// A small network as an exporter writes it: shape code on symbolic axes, Identity and Constant
/// nodes, formulas spelled out, operators that the IR has no name for.
struct ZooKind {
  std::string_view name;
  std::string_view description;
  int opset;
};

std::span<const ZooKind> all_zoo_models();

/// The bytes of an ONNX file of the network with random weights, drawn from `seed` as those of
/// build_model. Float inputs are meant to be standard normal. `name` with or without "zoo/" in
/// front; InputError for an unknown one.
std::string build_zoo_model(std::string_view name, uint64_t seed);

}  // namespace reverie
