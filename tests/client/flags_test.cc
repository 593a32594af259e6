#include "client/cli/flags.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace glint::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

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

}  // namespace
}  // namespace glint::cli
