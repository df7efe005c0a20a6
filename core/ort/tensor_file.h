#pragma once

#include <filesystem>
#include <vector>

#include "core/ort/worker.h"

namespace reverie::ort {

/// The form is described at Worker. InputError where the file cannot be written, and for types that
/// the runtime's interface does not take: strings and bfloat16.
void write_tensors(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors);
/// InputError where the file is no such file.
std::vector<NamedTensor> read_tensors(const std::filesystem::path& path);

}  // namespace reverie::ort
