#include "client/cli/base/flags.h"

#include <string>
#include <utility>
#include <vector>

#include "client/cli/base/detector_flags.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace glint::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

enum class Fruit { kApple, kPear };

struct FlagsTest : ::testing::Test {
  FlagsTest() {
    flags.Section("Section");
    flags.Int("count", "N", "How many.", &count);
    flags.Float("scale", "F", "How large.", &scale);
    flags.String("name", "NAME", "What.", &name);
    flags.Bool("color", "In colour.", &color);
    flags.Choice("fruit", {{"apple", Fruit::kApple}, {"pear", Fruit::kPear}}, "Which.", &fruit);
  }

  Flags flags;
  std::optional<int> count;
  std::optional<float> scale;
  std::string name;
  bool color = false;
  Fruit fruit = Fruit::kApple;
};

TEST_F(FlagsTest, ReadsEveryKind) {
  const auto operands = flags.Parse(
      {"a", "--count", "-3", "--scale=1.5", "--name", "", "b", "--color", "--fruit=pear", "-", "--", "--c"});
  ASSERT_TRUE(operands.ok()) << operands.status();
  EXPECT_THAT(*operands, ElementsAre("a", "b", "-", "--c"));
  EXPECT_EQ(count, -3);
  EXPECT_EQ(scale, 1.5f);
  EXPECT_EQ(name, "");
  EXPECT_TRUE(color);
  EXPECT_EQ(fruit, Fruit::kPear);
  ASSERT_TRUE(flags.Parse({"--no-color", "--name=x=y"}).ok());
  EXPECT_FALSE(color);
  EXPECT_EQ(name, "x=y");
}

TEST_F(FlagsTest, ErrorsNameTheOption) {
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"--cuont", "3"}, "unknown option '--cuont'; did you mean '--count'?"},
      {{"--something-else"}, "unknown option '--something-else'"},
      {{"-x"}, "unknown option '-x'"},
      {{"--no-count"}, "unknown option '--no-count'"},
      {{"--count"}, "option '--count' needs a value: N"},
      {{"--count", "3x"}, "option '--count': '3x' is not an integer"},
      {{"--count=99999999999"}, "option '--count': '99999999999' is not an integer"},
      {{"--scale", "nan"}, "option '--scale': 'nan' is not a number"},
      {{"--color=yes"}, "option '--color' takes no value"},
      {{"--fruit", "plum"}, "option '--fruit': 'plum' is not one of apple|pear"},
  };
  for (const auto& [arguments, message] : cases) {
    EXPECT_EQ(flags.Parse(arguments).status(), absl::InvalidArgumentError(message));
  }
}

TEST_F(FlagsTest, HelpListsEveryOption) {
  EXPECT_FALSE(flags.help_wanted());
  ASSERT_TRUE(flags.Parse({"--help", "--nonsense"}).ok());
  EXPECT_TRUE(flags.help_wanted());
  EXPECT_EQ(flags.Help(),
            "\nSection\n"
            "  --count N\n          How many.\n"
            "  --scale F\n          How large.\n"
            "  --name NAME\n          What.\n"
            "  --[no-]color\n          In colour.\n"
            "  --fruit apple|pear\n          Which.\n");
}

TEST(WrapTest, BreaksBetweenWordsAtTheEdge) {
  const std::string word(39, 'x');
  EXPECT_EQ(Wrap(word + " " + word + " y", 0), word + " " + word + "\ny\n");
  EXPECT_EQ(Wrap(word + " " + word, 2), "  " + word + "\n  " + word + "\n");
  EXPECT_EQ(Wrap("a\nb", 1), " a\n b\n");
}

TEST(DetectorFlags, RefuseDetectorsThatMakeNoSense) {
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"fast_grid", "--pyramid", "direct"}, "'--selection': GRID needs pyramid HALF or levels 1"},
      {{"fast_grid", "--cell-width", "7"}, "'--cell-width': 7 is not in 8..512"},
      {{"fast_grid", "--suppression-radius", "5"}, "'--suppression-radius': 5 is not in 0..4"},
      {{"fast_grid", "--descriptors"}, "'--descriptor': RBRIEF needs an orientation; orientation is NONE"},
      {{"fast_grid", "--levels", "0"}, "'--levels': 0 is not in 1..12"},
      {{"pyca", "--score", "harris"}, "'--selection': PYCA adds scores up; score must be MAX_THRESHOLD, SAD_CIRCLE"},
      {{"pyca", "--aggregation-window", "2"}, "'--aggregation-window': 2 is even"},
      {{"pyca", "--arc-length", "12", "--max-arc", "11"}, "'--max-arc': 11 is less than arc_length 12"},
      {{"bfrost", "--orientation", "none"}, "'--descriptor': BFROST needs orientation ARC_MIDPOINT"},
      {{"bfrost", "--response-threshold", "0.5"}, "'--response-threshold': 0.5, but corner_test FAST has only"},
      {{"bfrost", "--bfrost-scale", "9"}, "'--bfrost-scale': 9 is not in 0.25..4"},
      {{"harris", "--levels", "3"}, "'--corner-test': EVERY_PIXEL needs selection THRESHOLD and levels 1"},
      {{"harris", "--harris-block", "17"}, "'--harris-block': 17 is not in 3..15"},
      {{"orb", "--smooth"}, "'--smooth': needs corner_test EVERY_PIXEL"},
      {{"orb", "--score", "harris"}, "'--ranking': HARRIS re-ranks another score; with score HARRIS it must be SCORE"},
      {{"orb", "--score", "best"}, "'--score': 'best'"},
  };
  for (const auto& [arguments, message] : cases) {
    Flags flags;
    DetectorFlags detector;
    detector.AddTo(&flags);
    std::vector<std::string> all = {"--detector"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const auto parsed = flags.Parse(all);
    const absl::Status status = parsed.ok() ? detector.Options().status() : parsed.status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << message;
    EXPECT_THAT(std::string(status.message()), StartsWith("option " + message));
  }
}

}  // namespace
}  // namespace glint::cli
