#include "core/exec/cuda/module/cudnn_graph.h"

#include <algorithm>
#include <array>

#include "core/base/error.h"

namespace reverie::device::cuda {
namespace {

using Note = cudnnBackendNumericalNote_t;

/// All that the library's heuristics of this kind propose, the most promising first.
std::vector<Descriptor> proposals(const Descriptor& graph, cudnnBackendHeurMode_t mode,
                                  Failure& failure) {
  Descriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
  const auto get_results = [&](int64_t most, int64_t* count, void* results) {
    return failure.succeeded(
        cudnnBackendGetAttribute(heuristics.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                 CUDNN_TYPE_BACKEND_DESCRIPTOR, most, count, results),
        "cudnnBackendGetAttribute of engines");
  };
  int64_t count = 0, filled = 0;
  if (!heuristics.can_finalize(failure) || !get_results(0, &count, nullptr) || count == 0)
    return {};
  std::vector<Descriptor> configurations;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (int64_t i = 0; i < count; ++i)
    raw.push_back(configurations.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).get());
  if (!get_results(count, &filled, raw.data())) return {};
  configurations.erase(configurations.begin() + std::min(filled, count), configurations.end());
  return configurations;
}

std::vector<Note> notes_of(const Descriptor& configuration) {
  const Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t raw = engine.get();
  int64_t count = 0;
  check(cudnnBackendGetAttribute(configuration.get(), CUDNN_ATTR_ENGINECFG_ENGINE,
                                 CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &raw),
        "cudnnBackendGetAttribute of an engine");
  std::vector<Note> notes(CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  check(cudnnBackendGetAttribute(engine.get(), CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                 CUDNN_TYPE_NUMERICAL_NOTE, CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &count,
                                 notes.data()),
        "cudnnBackendGetAttribute of an engine's notes");
  notes.resize(static_cast<size_t>(std::min<int64_t>(count, CUDNN_NUMERICAL_NOTE_TYPE_COUNT)));
  return notes;
}

bool is_exact_enough(const Descriptor& configuration, bool full_float32) {
  const std::vector<Note> notes = notes_of(configuration);
  return std::none_of(notes.begin(), notes.end(), [&](Note note) {
    if (note == CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION) return true;
    return full_float32 && (note == CUDNN_NUMERICAL_NOTE_TENSOR_CORE ||
                            note == CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS);
  });
}

std::optional<ExecutionPlan> finalized(const Context& context, Descriptor configuration,
                                       Failure& failure) {
  Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  const cudnnHandle_t handle = context.cudnn.get();
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
  if (!plan.can_finalize(failure)) return std::nullopt;
  int64_t bytes = 0, count = 0;
  check(cudnnBackendGetAttribute(plan.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                 CUDNN_TYPE_INT64, 1, &count, &bytes),
        "cudnnBackendGetAttribute of a workspace");
  return ExecutionPlan{std::move(plan), std::move(configuration), bytes};
}

}  // namespace

Descriptor::Descriptor(cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t raw = nullptr;
  check(cudnnBackendCreateDescriptor(type, &raw), "cudnnBackendCreateDescriptor");
  raw_.reset(raw);
}

void Descriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                     int64_t count, const void* values) {
  check(cudnnBackendSetAttribute(get(), name, type, count, values), "cudnnBackendSetAttribute");
}

void Descriptor::finalize() { check(cudnnBackendFinalize(get()), "cudnnBackendFinalize"); }

bool Descriptor::can_finalize(Failure& failure) {
  return failure.succeeded(cudnnBackendFinalize(get()), "cudnnBackendFinalize");
}

bool Failure::succeeded(cudnnStatus_t status, const char* what) {
  if (is_refusal(status)) return false;
  try {
    check(status, what);
    return true;
  } catch (const DeviceError&) {
    throw;
  } catch (const InputError&) {
    last_ = std::current_exception();
    return false;
  }
}

std::optional<ExecutionPlan> plan_for(const Context& context, const Descriptor& graph,
                                      bool full_float32, int64_t workspace_limit,
                                      Failure& failure) {
  std::optional<ExecutionPlan> least;
  for (const auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_B, CUDNN_HEUR_MODE_FALLBACK}) {
    for (Descriptor& configuration : proposals(graph, mode, failure)) {
      if (!is_exact_enough(configuration, full_float32)) continue;
      auto plan = finalized(context, std::move(configuration), failure);
      if (!plan) continue;
      if (plan->workspace_bytes <= workspace_limit) return plan;
      if (!least || plan->workspace_bytes < least->workspace_bytes) least = std::move(plan);
    }
  }
  return least;
}

void execute(const Context& context, const ExecutionPlan& plan, const std::vector<int64_t>& ids,
             const std::vector<void*>& pointers, std::byte* workspace) {
  Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids);
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
           static_cast<int64_t>(pointers.size()), pointers.data());
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
  pack.finalize();
  check(cudnnBackendExecute(context.cudnn.get(), plan.plan.get(), pack.get()),
        "cudnnBackendExecute");
}

}  // namespace reverie::device::cuda
