#pragma once

#include <stdint.h>

/// Runs an ONNX model on a machine from within another program: libreverie_run.so, whose interface
/// is C. Not for use by several threads at once. A function that fails returns null or a number
/// below 0; reverie_error says why.
#ifdef __cplusplus
extern "C" {
#endif

typedef struct reverie_model reverie_model;

/// An input or an output. Its elements are dense, row-major, in the processor's byte order.
typedef struct {
  const char* name;
  const char* dtype;  ///< "float32", "int64", ...
  int32_t rank;
  const int64_t* extents;  ///< `rank` of them, outermost first
} reverie_tensor;

/// Why the last call that failed did, in one line; until the next one that fails.
const char* reverie_error(void);

/// Reads an ONNX file and makes its graph ready to run on a machine: "cpu", "cpu:<threads>", "cuda"
/// or "cuda:<precision>" (core/cost/machine.h). Symbolic dimensions get plausible extents. `costs`
/// is null, or a source of costs ("roofline:h200", "cuda"): nodes are then fused where that gains
/// by them, in the ways that no file can hold (core/search/file_cost.h), such as an activation in a
/// convolution; operators are measured for ten seconds at most. Models on one machine share its
/// device and run in one queue.
reverie_model* reverie_open(const char* file, const char* machine, const char* costs);
void reverie_close(reverie_model* model);

/// In the order of the file, from 0; null beyond the last one. They stay until reverie_close.
const reverie_tensor* reverie_input(const reverie_model* model, int32_t index);
const reverie_tensor* reverie_output(const reverie_model* model, int32_t index);

/// The device, its precision or threads, and the versions of the libraries and the driver that are
/// loaded.
const char* reverie_machine(const reverie_model* model);
/// Nodes that compute something, and those of them that run on the reference kernels.
int32_t reverie_nodes(const reverie_model* model);
int32_t reverie_fallbacks(const reverie_model* model);

/// Reads all inputs and writes all outputs, in host memory. 0 when that is done.
int32_t reverie_run(reverie_model* model, const void* const* inputs, void* const* outputs);
/// Seconds of one run, on the inputs of the last reverie_run or else on made-up ones. Nothing is
/// moved to or from the machine.
double reverie_seconds(reverie_model* model);

#ifdef __cplusplus
}
#endif
