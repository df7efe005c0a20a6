#include "tools/python/module/tables.h"

#include <pybind11/stl.h>

#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/cost/profile.h"
#include "core/cost/table.h"
#include "env/adapt/table.h"

namespace reverie::python {
namespace {

/// Joins tables in their order; the first file is written and may be missing.
template <class Table, class Read, class Write, class Join>
void join_into(const std::string& out, const std::vector<std::string>& files, Read read,
               Write write, Join join) {
  std::optional<Table> all;
  if (file_exists(out)) all = read(out);
  for (const std::string& file : files) {
    Table table = read(file);
    if (all)
      with_context(out, [&] { join(*all, std::move(table)); });
    else
      all = std::move(table);
  }
  if (all) write(out, *all);
}

void join_costs(CostTable& all, CostTable table) {
  const auto machine = [](const CostTable& one) {
    return fmt::format("{} ({}{}{})", one.device, one.library, one.driver.empty() ? "" : ", ",
                       one.driver);
  };
  if (machine(all) != machine(table) || all.profile != table.profile)
    throw InputError(
        "measured on {}, and others on {}; machines of different kinds have tables of their own",
        machine(all), machine(table));
  all.join(std::move(table));
}

/// The lines of a list of operators that the table lacks, all where it is not there.
std::vector<std::string> unmeasured(const std::string& list, const std::string& table) {
  auto operators = with_context(list, [&] { return parse_signature_list(read_file(list)); });
  if (file_exists(table))
    for (const auto& [signature, entry] : read_cost_table(table).entries)
      operators.erase(signature);
  std::vector<std::string> lines;
  for (const auto& [signature, one] : operators) lines.push_back(signature);
  return lines;
}

}  // namespace

void bind_tables(pybind11::module_& module) {
  namespace py = pybind11;
  module.def("unmeasured", &unmeasured, py::arg("list"), py::arg("table"),
             "Operators of a list that a cost table lacks.");
  module.def(
      "join_cost_tables",
      [](const std::string& out, const std::vector<std::string>& files) {
        join_into<CostTable>(out, files, read_cost_table, write_cost_table, join_costs);
      },
      py::arg("out"), py::arg("files"), "Adds what cost tables of the same machine know.");
  module.def(
      "join_recordings",
      [](const std::string& out, const std::vector<std::string>& files) {
        join_into<AdaptTable>(out, files, read_table, write_table,
                              [](AdaptTable& all, const AdaptTable& table) { all.join(table); });
      },
      py::arg("out"), py::arg("files"), "Adds the trainings of tables of the same scenario.");
}

}  // namespace reverie::python
