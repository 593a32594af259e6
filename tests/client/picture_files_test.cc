// Names of pictures: their order, their times, and which ones belong together.
#include "client/cli/source/picture_files.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace glint::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Names = std::vector<std::string>;

TEST(PictureFiles, NumbersGoByTheirValue) {
  Names names = {"img10.png",
                 "img2.png",
                 "img1.png",
                 "img02.png",
                 "img.png",
                 "a/img3.png",
                 "img2b.png",
                 "99999999999999999999999.png",
                 "100000000000000000000000.png",
                 "imgx.png"};
  std::sort(names.begin(), names.end(), NaturallyBefore);
  EXPECT_THAT(names, ElementsAre("99999999999999999999999.png", "100000000000000000000000.png", "a/img3.png", "img.png",
                                 "img1.png", "img02.png", "img2.png", "img2b.png", "img10.png", "imgx.png"));
  for (const std::string& a : names) {
    EXPECT_FALSE(NaturallyBefore(a, a));
    for (const std::string& b : names) EXPECT_TRUE(a == b || NaturallyBefore(a, b) != NaturallyBefore(b, a));
  }
}

TEST(PictureFiles, HiddenFilesAndOthersAreNoPictures) {
  std::string folder = ::testing::TempDir() + "glint-files-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  for (const char* name : {"10.png", "9.JPG", "._9.png", ".DS_Store", "Thumbs.db", ".hidden.png", "notes.txt"}) {
    std::ofstream(absl::StrCat(folder, "/", name)) << "x";
  }
  EXPECT_THAT(*PictureFiles(folder), ElementsAre(folder + "/9.JPG", folder + "/10.png"));
  EXPECT_THAT(*PictureFiles(folder + "/*.png"), ElementsAre(folder + "/10.png"));
  EXPECT_EQ(OtherFiles(folder), folder + ": 2 pictures; what else is there is left out: Thumbs.db, notes.txt");
  EXPECT_THAT(OtherFiles(folder + "/10.png"), IsEmpty());
  EXPECT_THAT(*PictureFiles(folder + "/notes.txt"), IsEmpty());
  EXPECT_TRUE(absl::IsNotFound(PictureFiles(folder + "/*.bmp").status()));
  std::filesystem::remove_all(folder);
}

TEST(PictureFiles, WhatAFolderHasBesidePicturesIsCounted) {
  std::string folder = ::testing::TempDir() + "glint-files-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  for (const char* name : {"1.png", "2.gif", "3.heic", "10.heic", "4.mp4"}) std::ofstream(folder + "/" + name) << "x";
  std::filesystem::create_directory(folder + "/more");
  EXPECT_EQ(OtherFiles(folder),
            folder + ": 1 picture; what else is there is left out: 2.gif, 3.heic, 4.mp4 and 2 more");
  std::filesystem::remove_all(folder);
}

// Reading it says that it is not there; a folder of such links is not a smaller one.
TEST(PictureFiles, LinksThatLeadNowhereAreListed) {
  std::string folder = ::testing::TempDir() + "glint-files-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  std::ofstream(folder + "/1.png") << "x";
  std::filesystem::create_symlink("/nowhere/2.png", folder + "/2.png");
  std::filesystem::create_symlink(folder + "/1.png", folder + "/3.png");
  EXPECT_THAT(*PictureFiles(folder), ElementsAre(folder + "/1.png", folder + "/2.png", folder + "/3.png"));
  EXPECT_THAT(OtherFiles(folder), IsEmpty());
  std::filesystem::remove_all(folder);
}

TEST(PictureFiles, NamesAreTimes) {
  EXPECT_THAT(TimesOf({"a/1403715273262142976.png", "a/1403715273312143104.png"}),
              ElementsAre(absl::Nanoseconds(1403715273262142976), absl::Nanoseconds(1403715273312143104)));
  EXPECT_THAT(TimesOf({"1403715273262142.png"}), ElementsAre(absl::Microseconds(1403715273262142)));
  EXPECT_THAT(TimesOf({"1403715273262.png"}), ElementsAre(absl::Milliseconds(1403715273262)));
  EXPECT_THAT(TimesOf({"1305031102.175304.png", "0.5.png"}),
              ElementsAre(absl::Seconds(1305031102) + absl::Microseconds(175304), absl::Milliseconds(500)));
  for (const Names& none : {Names{"000000.png"}, Names{"0000000012.png"}, Names{"0000000000000000012.png"},
                            Names{"1403715273262142976.png", "thumb.png"}, Names{"1403715273262142976.png", "12.png"},
                            Names{"left_1403715273262142976.png"}, Names{"1.5.2.png"}, Names{"1..png"}, Names{}}) {
    EXPECT_THAT(TimesOf(none), IsEmpty()) << none.size();
  }
}

TEST(Align, NamesAreEqualButForEndsAndZeros) {
  const auto aligned = Align({{"l/000010.png", "l/000002.png", "l/000003.png", "l/000004.png", "l/x.png"},
                              {"r/1.jpg", "r/2.jpg", "r/4.jpg", "r/10.jpg"}});
  ASSERT_TRUE(aligned.ok()) << aligned.status();
  EXPECT_THAT(aligned->files[0], ElementsAre("l/000002.png", "l/000004.png", "l/000010.png"));
  EXPECT_THAT(aligned->files[1], ElementsAre("r/2.jpg", "r/4.jpg", "r/10.jpg"));
  EXPECT_THAT(aligned->alone, ElementsAre("l/000003.png", "l/x.png", "r/1.jpg"));
  EXPECT_THAT(aligned->number, ElementsAre(1, 3, 4));  // 1 and 3 count, where they are missing
}

TEST(Align, WhatAllNamesOfASourceBeginOrEndWithIsNoDifference) {
  for (const auto& [left, right] : {std::pair("left_", "right_"), std::pair("cam0-", "cam1-"), std::pair("", "r.")}) {
    const auto aligned = Align({{absl::StrCat(left, "0010.png"), absl::StrCat(left, "0011.png")},
                                {absl::StrCat(right, "0011.png"), absl::StrCat(right, "0012.png")}});
    ASSERT_TRUE(aligned.ok()) << aligned.status();
    EXPECT_THAT(aligned->files[1], ElementsAre(absl::StrCat(right, "0011.png")));
  }
  EXPECT_THAT(Align({{"1_l.png", "2_l.png"}, {"2_r.png", "3_r.png"}})->files[0], ElementsAre("2_l.png"));
}

TEST(Align, TimesAreTheNearest) {
  // A depth camera whose clock is 8 ms behind; one of its pictures is missing, one comes 25 ms late.
  const auto aligned = Align({{"c/1.000.png", "c/1.100.png", "c/1.200.png", "c/1.300.png", "c/1.400.png"},
                              {"d/1.008.png", "d/1.108.png", "d/1.325.png", "d/1.408.png", "d/1.9.png"}});
  ASSERT_TRUE(aligned.ok()) << aligned.status();
  EXPECT_THAT(aligned->files[0], ElementsAre("c/1.000.png", "c/1.100.png", "c/1.400.png"));
  EXPECT_THAT(aligned->files[1], ElementsAre("d/1.008.png", "d/1.108.png", "d/1.408.png"));
  EXPECT_THAT(aligned->alone, ElementsAre("c/1.200.png", "c/1.300.png", "d/1.325.png", "d/1.9.png"));
}

TEST(Align, OneFileEachBelongTogetherAndOthersOnlyByName) {
  EXPECT_TRUE(Align({{"a.png"}, {"b.png"}}).ok());
  EXPECT_THAT(Align({{"a.png", "b.png"}, {"c.png", "d.png"}}).status().message(),
              HasSubstr("no picture has a partner of its name or time: the first ones are a.png and c.png"));
  EXPECT_THAT(Align({{"1.png", "01.png"}, {"1.png", "2.png"}}).status().message(), HasSubstr("has the same name"));
  const auto three = Align({{"a/1.png", "a/2.png"}, {"b/1.png", "b/2.png"}, {"c/2.png", "c/3.png"}});
  ASSERT_TRUE(three.ok());
  EXPECT_THAT(three->files, ElementsAre(Names{"a/2.png"}, Names{"b/2.png"}, Names{"c/2.png"}));
}

}  // namespace
}  // namespace glint::cli
