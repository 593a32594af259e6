// Documents of YAML, JSON and XML, with the slips of published files, and hostile ones.
#include "calibration/formats/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace glint::calibration {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Node Parsed(const std::string& text, std::vector<std::string>* warnings = nullptr) {
  const absl::StatusOr<Node> root = ParseDocument(text, warnings);
  EXPECT_TRUE(root.ok()) << root.status() << "\n" << text.substr(0, 200);
  return root.ok() ? *root : Node();
}

std::string ErrorOf(const std::string& text) {
  const absl::StatusOr<Node> root = ParseDocument(text);
  EXPECT_EQ(root.status().code(), absl::StatusCode::kInvalidArgument) << text.substr(0, 200);
  return std::string(root.status().message());
}

std::vector<double> NumbersAt(const Node& root, const std::string& path) {
  const Node* node = root.FindPath(path);
  EXPECT_NE(node, nullptr) << path;
  if (node == nullptr) return {};
  const absl::StatusOr<std::vector<double>> numbers = NumbersOf(*node);
  EXPECT_TRUE(numbers.ok()) << numbers.status();
  return numbers.value_or(std::vector<double>());
}

TEST(DocumentTest, ReadsTheSameFromYamlJsonAndXml) {
  const std::string texts[] = {
      "%YAML:1.0\n---\nK: !!opencv-matrix\n   rows: 1\n   cols: 2\n   dt: d\n   data: [ 4.5e+002,\n       -1. ]\n"
      "name: \"left eye\"\nsizes: [ 752, 480 ]\n",
      "{\"K\": {\"rows\": 1, \"cols\": 2, \"dt\": \"d\", \"data\": [450, -1.0]},\n \"name\": \"left eye\", "
      "\"sizes\": [752,480]}",
      "<?xml version=\"1.0\"?>\n<opencv_storage>\n<K type_id=\"opencv-matrix\"><rows>1</rows><cols>2</cols><dt>d</dt>\n"
      "<data>\n 450. -1.</data></K><name>\"left eye\"</name><sizes><_>752</_><_>480</_></sizes></opencv_storage>\n"};
  for (const std::string& text : texts) {
    std::vector<std::string> warnings;
    const Node root = Parsed(text, &warnings);
    EXPECT_THAT(NumbersAt(root, "K"), ElementsAre(450, -1));
    EXPECT_THAT(NumbersAt(root, "K/rows"), ElementsAre(1));
    EXPECT_THAT(NumbersAt(root, "sizes"), ElementsAre(752, 480));
    ASSERT_NE(root.Find("name"), nullptr);
    EXPECT_EQ(root.Find("name")->text, "left eye");
    EXPECT_EQ(root.children.size(), 3u);
    EXPECT_THAT(warnings, IsEmpty());
  }
}

TEST(DocumentTest, NumbersKeepTheirLastDigit) {
  const Node yaml = Parsed("f: 458.65399999999994\n"), json = Parsed("{\"f\": 458.65399999999994}");
  EXPECT_EQ(*NumberOf(*yaml.Find("f")), 458.65399999999994);
  EXPECT_EQ(*NumberOf(*json.Find("f")), 458.65399999999994);
}

TEST(DocumentTest, TakesTheSlipsOfPublishedFiles) {
  // A byte order mark, Windows's ends of lines, a header with a comment, tabs, colons in values and without blanks.
  const Node root = Parsed(
      "\xef\xbb\xbf%YAML:1.0 # of OpenCV\r\n\r\nViewer.PointSize:2\r\nCamera.fx:\t458.5 # pixels\r\n"
      "LEFT.D: !!opencv-matrix\r\n\trows: 1\r\n\tcols: 5\r\n\tdt: d\r\n\tdata:[-0.28, 0.07,\r\n\t\t0.0002, 1.7e-05, "
      "0.0]\r\n"
      "comment: VI-Sensor cam0: MT9M034\r\ndate: 2023-01-01 12:30:10\r\ntopic: @cam/image # none\r\n"
      "flow: {rows:3, name: 'a: b', list: [1,2]}\r\nempty:\r\nnested:\r\n- - 1.0\r\n  - 2.0\r\n- - 3.0\r\n  - 4.0\r\n");
  EXPECT_THAT(NumbersAt(root, "Viewer.PointSize"), ElementsAre(2));
  EXPECT_THAT(NumbersAt(root, "Camera.fx"), ElementsAre(458.5));
  EXPECT_THAT(NumbersAt(root, "LEFT.D"), ElementsAre(-0.28, 0.07, 0.0002, 1.7e-05, 0));
  EXPECT_EQ(root.Find("comment")->text, "VI-Sensor cam0: MT9M034");
  EXPECT_EQ(root.Find("date")->text, "2023-01-01 12:30:10");
  EXPECT_EQ(root.Find("topic")->text, "@cam/image");
  EXPECT_THAT(NumbersAt(root, "flow/rows"), ElementsAre(3));
  EXPECT_EQ(root.FindPath("flow/name")->text, "a: b");
  EXPECT_EQ(root.Find("empty")->kind, Node::Kind::kEmpty);
  EXPECT_THAT(NumbersAt(root, "nested"), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(root.Find("flow")->line, 14);
}

TEST(DocumentTest, SaysWhereACommaIsMissing) {
  std::vector<std::string> warnings;
  const Node root = Parsed("R:\n  data: [1 0 0,\n   0, 1 0\n   0, 0, 1]\n", &warnings);
  EXPECT_THAT(NumbersAt(root, "R"), ElementsAre(1, 0, 0, 0, 1, 0, 0, 0, 1));
  EXPECT_THAT(warnings,
              ElementsAre("line 2: a comma is missing between numbers", "line 3: a comma is missing between numbers"));
}

TEST(DocumentTest, TheFirstOfTwoValuesCounts) {
  for (const std::string text : {"a: 1\nb: 2\na: 3\nb: 2\n", "{\"a\": 1, \"b\": 2,\n\n\"a\": 3, \"b\": 2}",
                                 "<opencv_storage><a>1</a><b>2</b>\n\n<a>3</a><b>2</b></opencv_storage>"}) {
    std::vector<std::string> warnings;
    const Node root = Parsed(text, &warnings);
    EXPECT_THAT(NumbersAt(root, "a"), ElementsAre(1));
    EXPECT_EQ(root.children.size(), 2u);
    EXPECT_THAT(warnings, ElementsAre("line 3: \"a\" has another value in line 1, which was taken")) << text;
  }
}

TEST(DocumentTest, TakesAliasesAndTheFirstDocument) {
  const Node root = Parsed("---\nleft: &d [1, 2]\nright: *d\n---\nleft: [3]\n---\n");
  EXPECT_THAT(NumbersAt(root, "left"), ElementsAre(1, 2));
  EXPECT_THAT(NumbersAt(root, "right"), ElementsAre(1, 2));
}

TEST(DocumentTest, ErrorsNameTheLine) {
  EXPECT_THAT(ErrorOf("a: 1\nb: [1, 2\nc: 3\n"), HasSubstr("line "));
  EXPECT_EQ(ErrorOf("{\"a\": 1,\n \"b\" 2}"), "line 2: JSON: no colon after \"b\"");
  EXPECT_EQ(ErrorOf("{\"a\": [1, 2"), "line 1: JSON: no comma or ] after a value");
  EXPECT_EQ(ErrorOf("{\"a\": 1}\nx"), "line 2: JSON: text after the end");
  EXPECT_THAT(ErrorOf("<opencv_storage>\n<a>1</b></opencv_storage>"), HasSubstr("line 2: XML: "));
  EXPECT_EQ(ErrorOf(std::string("a: 1\nb\0c", 8)), "line 2: no text");
  EXPECT_THAT(ErrorOf("A readme about cameras\nin two lines\n"), HasSubstr("no document of names and values"));
  EXPECT_THAT(ErrorOf(""), HasSubstr("no document"));
}

TEST(DocumentTest, NamesWhatIsNoNumber) {
  const Node root = Parsed("K: [1, two, 3]\nd: [.nan]\nf: 1, 2\nm: {a: 1}\ne:\n");
  EXPECT_EQ(NumbersOf(*root.Find("K")).status().message(), "K: \"two\" in line 1 is no number");
  EXPECT_EQ(NumbersOf(*root.Find("d")).status().message(), "d: \".nan\" in line 2 is no number");
  EXPECT_EQ(NumberOf(*root.Find("f")).status().message(), "f: 2 numbers, not one");
  EXPECT_FALSE(NumbersOf(*root.Find("m")).ok());
  EXPECT_FALSE(NumbersOf(*root.Find("e")).ok());
  EXPECT_EQ(NumbersOf(*Parsed("{\"d\": [NaN]}").Find("d")).status().message(), "d: \"NaN\" in line 1 is no number");
}

// Each ends in an error within its bounds, not in a stack or memory that runs out.
TEST(DocumentTest, HostileTextsEnd) {
  const auto repeated = [](const std::string& part, int times) {
    std::string text;
    for (int i = 0; i < times; ++i) text += part;
    return text;
  };
  EXPECT_THAT(ErrorOf(repeated("[", 1 << 20)), HasSubstr("nested more than 64"));
  EXPECT_THAT(ErrorOf("a: " + repeated("[", 1 << 19)), HasSubstr("nested more than 64"));
  EXPECT_THAT(ErrorOf(repeated("{\"a\":", 1 << 18)), HasSubstr("nested more than 64"));
  EXPECT_THAT(ErrorOf(repeated("<a>", 1000) + repeated("</a>", 1000)), HasSubstr("nested more than 64"));
  EXPECT_THAT(ErrorOf(repeated("- ", 1 << 19)), HasSubstr("nested more than 64"));
  EXPECT_THAT(ErrorOf("a: [" + repeated("1,", 250'000) + "]"), HasSubstr("more than 200000 values"));
  EXPECT_THAT(ErrorOf("[" + repeated("1,", 250'000) + "1]"), HasSubstr("more than 200000 values"));
  EXPECT_THAT(ErrorOf(repeated("some words of a text\n", 1 << 19)), HasSubstr("bytes of YAML are more than"));
  std::string bomb = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n";
  for (int i = 1; i < 12; ++i) {
    absl::StrAppend(&bomb, "a", i, ": &a", i, " [", repeated(absl::StrCat("*a", i - 1, ", "), 10), "]\n");
  }
  EXPECT_THAT(ErrorOf(bomb), HasSubstr("more than 200000 values"));
  EXPECT_THAT(ErrorOf("a: &x [1, *x]\n"), HasSubstr("alias"));
  EXPECT_THAT(ErrorOf("? [a, b]\n: 1\n"), HasSubstr("line 1"));
}

}  // namespace
}  // namespace glint::calibration
