#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/base/stop.h"
#include "core/cost/measured.h"

namespace reverie {

struct ProfileOptions {
  MeasureOptions measure;  ///< with the table to fill
  double max_seconds = 0;  ///< after which nothing more is begun; 0: no limit
  StopToken stop;
  /// Called after each operator, with how many of them the table has, or cannot have.
  std::function<void(int64_t done)> on_progress;
};

/// What could not be run, and what the machine said.
struct Unmeasured {
  std::string signature, reason;
};

struct ProfileResult {
  int64_t operators = 0;  ///< asked for
  int64_t known = 0;      ///< the table had before
  int64_t measured = 0;
  int64_t unmeasured = 0;                ///< that the machine cannot run alone on made-up inputs
  std::vector<Unmeasured> reasons = {};  ///< of these, opaque operators apart
  /// False where time or stop came first: the same call goes on.
  bool complete = true;
};

/// Measures those operators, by the text of their signatures, that the table does not have. It is
/// brought up to date every few seconds and at the end. InputError as make_measured_cost_model.
ProfileResult profile_operators(const std::map<std::string, OpSignature>& operators,
                                const ProfileOptions& options);

/// A signature a line.
std::string signature_list(const std::map<std::string, OpSignature>& operators);
/// Reads such a list; blank lines and lines that begin with '#' are skipped. InputError names the
/// line.
std::map<std::string, OpSignature> parse_signature_list(std::string_view text);

}  // namespace reverie
