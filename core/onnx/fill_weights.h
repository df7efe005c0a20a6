#pragma once

#include <cstdint>
#include <filesystem>

#include "core/onnx/import.h"

namespace reverie {

/// Copies the model `from` to `to` and gives it weights: every large fill (`ConstantOfShape` of
/// more than Weight::kSmallWeight floats) becomes an initializer of that name with seeded random
/// numbers; all other nodes stay as they are, and data that lie outside `from` are brought into
/// `to`. Numbers are drawn for what the weight is used for, so that activations keep their size: a
/// filter or matrix by its fan-in, and smaller where products grow all the same (core/exec/draw.h);
/// around the fill's value otherwise, of one sign where a root is taken of it or something is
/// divided by it. Returns how many were drawn. InputError as for import_onnx, when the graph cannot
/// be run, and when `to` cannot be written or would be larger than 2 GiB.
int fill_weights(const std::filesystem::path& from, const std::filesystem::path& to, uint64_t seed,
                 const ImportOptions& options = {});

}  // namespace reverie
