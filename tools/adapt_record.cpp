#include "tools/adapt_record.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/base/words.h"
#include "env/adapt/record.h"
#include "tools/interrupt.h"

namespace reverie {
namespace {

constexpr int64_t kMostSequences = 10'000;

AdaptTable table_of(const AdaptOptions& options, const AdaptStart& start,
                    const TrainingConfig& train) {
  if (file_exists(options.table)) return read_table(options.table);
  AdaptTable table;
  table.scenario = start.source->scenario();
  table.rates = start.source->rates();
  table.final_epochs = start.final_epochs;
  table.budget = budget_text(train);
  return table;
}

/// Whether all sequences were trained with the seed.
bool is_recorded(const AdaptTable& table, uint64_t seed) {
  return !table.sequences.empty() &&
         std::ranges::all_of(table.sequences, [&](const auto& sequence) {
           return std::ranges::any_of(sequence.runs,
                                      [&](const auto& run) { return run.seed == seed; });
         });
}

}  // namespace

void record_adapt(const AdaptOptions& options, const AdaptCommandConfig& config) {
  const AdaptStart start = adapt_start(options, config);
  if (start.source->name() == "table") throw InputError("{}: is a table already", options.source);
  AdaptTable table = table_of(options, start, config.adapt.train);
  const int64_t sequences =
      count_sequences(*start.source, start.source->start(config.seed)->state());
  if (sequences > kMostSequences)
    throw InputError(
        "{}: {} sequences of decisions for each seed are too many to record; give fewer "
        "decisions or rates (adapt.train)",
        options.source, sequences);
  Progress progress("record", options.runs * sequences, "sequences", options.common.progress());
  const StopToken stop = stop_on_interrupt();
  for (int run = 0; run < options.runs; ++run) {
    const uint64_t seed = config.seed + static_cast<uint64_t>(run);
    if (!is_recorded(table, seed)) {
      record_sequences(*start.source, seed, table, [&](int64_t done) {
        progress.update(run * sequences + done);
        if (stop.requested())
          throw Interrupted("interrupted; the same command goes on at seed {}", seed);
      });
      write_table(options.table, table);
    }
    progress.update((run + 1) * sequences);
  }
  fmt::print("{}: {}, {} of each\n", options.table, counted(sequences, "sequence"),
             counted(options.runs, "run"));
}

}  // namespace reverie
