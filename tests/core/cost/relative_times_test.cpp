#include "core/cost/relative_times.h"

#include <gtest/gtest.h>

namespace reverie {
namespace {

/// Takes a microsecond a node, and `nanoseconds` beside them, and counts the graphs that are made
/// ready.
class NodeClock : public Machine {
 public:
  std::string name() const override { return "nodes"; }
  MachineInfo info() override { return {"nodes", "", ""}; }
  std::string profile() const override { return "cpu"; }
  std::unique_ptr<ReadyGraph> ready(const Graph& graph, const WeightSource&) override {
    struct Ready : ReadyGraph {
      explicit Ready(double seconds) : seconds(seconds) {}
      double seconds_of_run() override { return seconds; }
      int fallbacks() const override { return 0; }
      double seconds;
    };
    ++made_ready;
    return std::make_unique<Ready>(1e-6 * graph.node_count() + 1e-9 * nanoseconds);
  }
  MedianInterval time_operator(const OpSignature&, const TimingOptions&) override { return {}; }

  int made_ready = 0;
  int nanoseconds = 0;
};

Graph chain(int length, const char* op = "Relu") {
  Graph graph;
  ValueId value = graph.add_input("x", {DType::kFloat32, {4}});
  for (int i = 0; i < length; ++i) value = graph.add(op, {value});
  graph.add_output("y", value);
  return graph;
}

class RelativeTimesTest : public ::testing::Test {
 protected:
  std::shared_ptr<NodeClock> clock_ = std::make_shared<NodeClock>();
  RelativeTimes times_{{.repeats = 3, .min_seconds = 0, .machine = clock_}};
};

TEST_F(RelativeTimesTest, AreRatiosToTheOriginal) {
  const double nodes = chain(9).node_count();
  EXPECT_DOUBLE_EQ(times_.of(chain(9), chain(4)).ratio, chain(4).node_count() / nodes);
  EXPECT_DOUBLE_EQ(times_.of(chain(9), chain(12)).ratio, chain(12).node_count() / nodes);
}

TEST_F(RelativeTimesTest, AGraphIsMeasuredOnceForEachOriginal) {
  const RelativeTime first = times_.of(chain(9), chain(4));
  EXPECT_EQ(first.measurements, 1);
  const RelativeTime again = times_.of(chain(9), chain(4));
  EXPECT_EQ(again.ratio, first.ratio);
  EXPECT_EQ(again.measurements, 0);
  EXPECT_EQ(clock_->made_ready, 2) << "the original and the graph";
  const RelativeTime other = times_.of(chain(6), chain(4));
  EXPECT_EQ(other.measurements, 1);
  EXPECT_GT(other.ratio, first.ratio);
  EXPECT_EQ(times_.of(chain(9), chain(4, "Tanh")).measurements, 1)
      << "as many nodes, and another graph";
}

TEST_F(RelativeTimesTest, AnewTheOriginalIsMadeReadyAgainToo) {
  const double known = times_.of(chain(9), chain(4)).ratio;
  clock_->made_ready = 0;
  clock_->nanoseconds = 3;
  const RelativeTime anew = times_.of(chain(9), chain(4), true);
  EXPECT_EQ(anew.measurements, 1);
  EXPECT_NE(anew.ratio, known);
  EXPECT_EQ(clock_->made_ready, 2);
  const double both = times_.of(chain(9), chain(4)).ratio;
  EXPECT_DOUBLE_EQ(both, (known + anew.ratio) / 2) << "the median of two";
  EXPECT_EQ(clock_->made_ready, 2) << "and not measured a third time";
}

TEST_F(RelativeTimesTest, AnOriginalBesideItselfIsOneAndTakesNoMeasurement) {
  const RelativeTime time = times_.of(chain(5), chain(5));
  EXPECT_EQ(time.ratio, 1);
  EXPECT_EQ(time.measurements, 0);
  EXPECT_EQ(times_.of(chain(5), chain(5), true).measurements, 0);
}

}  // namespace
}  // namespace reverie
