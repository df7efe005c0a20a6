#include "env/rewrite/search/egraph/ilp.h"

namespace reverie {

std::string IlpResult::status() const { return "no program solved: built without CBC"; }

IlpResult extract_by_ilp(const ExtractionProblem&, const Selection& start, double,
                         const OutOfTime&) {
  IlpResult result;
  result.selection = start;
  return result;
}

}  // namespace reverie
