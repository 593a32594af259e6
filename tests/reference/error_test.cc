// Errors: values that users sent, as they come back in texts (short, printable and valid UTF-8), and what programs
// read.
#include "features/error.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "features/server_error.h"

namespace glint {
namespace {

std::string TextOf(const absl::Status& status) { return std::string(status.message()); }

TEST(EchoTest, ShortTextStaysAsItIs) {
  EXPECT_EQ(Echo(""), "");
  EXPECT_EQ(Echo("oriented_fast"), "oriented_fast");
  EXPECT_EQ(Echo("größer, 大 und \xf0\x9f\x91\x8d"), "größer, 大 und \xf0\x9f\x91\x8d");
  EXPECT_EQ(Echo(std::string(kMaxEchoBytes, 'x')), std::string(kMaxEchoBytes, 'x'));
}

TEST(EchoTest, LongTextIsCutAndTheCutIsMarked) {
  EXPECT_EQ(Echo(std::string(kMaxEchoBytes + 1, 'x')), std::string(kMaxEchoBytes, 'x') + "...");
  EXPECT_EQ(Echo(std::string(1 << 20, 'x')), std::string(kMaxEchoBytes, 'x') + "...");
}

// Never in the middle of a character or of an escape.
TEST(EchoTest, CutsBetweenCharacters) {
  for (size_t ascii = kMaxEchoBytes - 5; ascii <= kMaxEchoBytes; ++ascii) {
    const std::string text(ascii, 'x');
    EXPECT_EQ(Echo(text + "大大大"), text + (ascii + 3 <= kMaxEchoBytes ? "大" : "") + "...") << ascii;
    EXPECT_EQ(Echo(text + "\n\n\n"), text + (ascii + 4 <= kMaxEchoBytes ? "\\x0a" : "") + "...") << ascii;
  }
}

TEST(EchoTest, ControlBytesAndWhatIsNoUtf8AreEscaped) {
  EXPECT_EQ(Echo(std::string("a\0b\n\x1b[2J\x7f", 9)), "a\\x00b\\x0a\\x1b[2J\\x7f");
  EXPECT_EQ(Echo("\xc2\x9b"), "\\xc2\\x9b");                    // a control character of two bytes
  EXPECT_EQ(Echo("\x80\xff\xc3"), "\\x80\\xff\\xc3");           // no beginning; none; no end
  EXPECT_EQ(Echo("\xc0\xaf"), "\\xc0\\xaf");                    // overlong
  EXPECT_EQ(Echo("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // a surrogate
  EXPECT_EQ(Echo("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // beyond U+10FFFF
  EXPECT_EQ(Echo("\xe5\xa4z"), "\\xe5\\xa4z");                  // cut short by an x
}

TEST(ErrorTest, EveryErrorCutsTheValueItEchoes) {
  const std::string value(70000, 'v');
  const std::string shown = std::string(kMaxEchoBytes, 'v') + "...";
  EXPECT_EQ(TextOf(NotOneOfError("preset", value, "orb, harris")),
            "preset: \"" + shown + "\" is not one of orb, harris");
  EXPECT_EQ(TextOf(OutOfRangeError("age", value, std::string("1s"), std::string("24h"))),
            "age: " + shown + " is not in 1s..24h");
  EXPECT_LE(ContradictionError("mask", value).message().size(), size_t{1000});
  EXPECT_EQ(TextOf(OutOfRangeError("levels", 13, 1, 12)), "levels: 13 is not in 1..12");
}

// The members of a status's info that there are: "reason=OUT_OF_RANGE field=levels".
std::string InfoOf(const absl::Status& status) {
  const std::optional<ErrorInfo> info = ErrorInfoOf(status);
  if (!info.has_value()) return "none";
  std::string text = absl::StrCat("reason=", info->reason);
  const auto add = [&text](const char* name, const std::string& value) {
    if (!value.empty()) absl::StrAppend(&text, " ", name, "=", value);
  };
  add("field", info->field);
  add("value", info->value);
  add("lowest", info->lowest);
  add("highest", info->highest);
  add("allowed", info->allowed);
  add("flag", info->flag);
  return text;
}

TEST(ErrorInfoTest, EveryErrorSaysToProgramsWhatItsTextSays) {
  EXPECT_EQ(InfoOf(OutOfRangeError("levels", 13, 1, 12)),
            "reason=OUT_OF_RANGE field=levels value=13 lowest=1 highest=12");
  EXPECT_EQ(InfoOf(CheckRange("scale_factor", 2.5f, 1.05f, 2.0f)),
            "reason=OUT_OF_RANGE field=scale_factor value=2.5 lowest=1.05 highest=2");
  EXPECT_EQ(InfoOf(NotOneOfError("preset", "sift\n", "orb, harris")),
            "reason=NOT_ONE_OF field=preset value=sift\\x0a allowed=orb, harris");
  EXPECT_EQ(InfoOf(ContradictionError("mask", "9x12 is not the image's 12x9")), "reason=CONTRADICTION field=mask");
  EXPECT_EQ(InfoOf(LimitError("max_features", 5001, 5000, "--max-features")),
            "reason=OVER_LIMIT field=max_features value=5001 highest=5000 flag=--max-features");
  const absl::Status large = TooLargeError("options", 70000, 65536);
  EXPECT_EQ(TextOf(large), "options: 70000 bytes are more than 65536");
  EXPECT_EQ(InfoOf(large), "reason=OUT_OF_RANGE field=options value=70000 highest=65536");
  EXPECT_EQ(InfoOf(absl::NotFoundError("token: unknown")), "none");
  EXPECT_EQ(InfoOf(absl::OkStatus()), "none");
}

TEST(ServerErrorTest, SaysToProgramsWhatItsTextSays) {
  const absl::Status set = NotFoundError("train.set", "map\n", "is not kept in this stream");
  EXPECT_EQ(set.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(TextOf(set), "train.set: is not kept in this stream");
  EXPECT_EQ(InfoOf(set), "reason=NOT_FOUND field=train.set value=map\\x0a");
  const absl::Status camera = FailedPreconditionError("camera", "1", "1 has had no frame");
  EXPECT_EQ(camera.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(TextOf(camera), "camera: 1 has had no frame");
  EXPECT_EQ(InfoOf(camera), "reason=FAILED_PRECONDITION field=camera value=1");
  const absl::Status images = LimitError("images", 9, "pixels", 8, "2 x --max-pixels");
  EXPECT_EQ(images.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(TextOf(images), "images: 9 pixels are over this server's limit of 8 (2 x --max-pixels)");
  EXPECT_EQ(InfoOf(images), "reason=OVER_LIMIT field=images value=9 highest=8 flag=--max-pixels");
}

TEST(ServerErrorTest, RenamesAFieldInTextAndInfo) {
  const absl::Status width = OutOfRangeError("image.width", 0, 1, 9);
  const absl::Status raw = WithFieldRenamed("image.", "image.raw.", width);
  EXPECT_EQ(raw.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(TextOf(raw), "image.raw.width: 0 is not in 1..9");
  EXPECT_EQ(InfoOf(raw), "reason=OUT_OF_RANGE field=image.raw.width value=0 lowest=1 highest=9");
  const absl::Status file = WithField("left", WithFieldRenamed("image.width", "image.encoded.data: width", width));
  EXPECT_EQ(TextOf(file), "left.encoded.data: width: 0 is not in 1..9");
  EXPECT_EQ(InfoOf(file), "reason=OUT_OF_RANGE field=left.encoded.data value=0 lowest=1 highest=9");
  EXPECT_EQ(WithFieldRenamed("mask.", "mask.raw.", width), width);
  EXPECT_EQ(WithFieldRenamed("image", "left", absl::NotFoundError("image: none")), absl::NotFoundError("image: none"));
}

TEST(ErrorInfoTest, TakesThePlaceOfWhatWasThere) {
  absl::Status status = WithErrorInfo(LimitError("a", 2, 1, "--a"), {"NOT_ONE_OF", "b", "", "", "", "c, d", ""});
  EXPECT_EQ(InfoOf(status), "reason=NOT_ONE_OF field=b allowed=c, d");
  EXPECT_EQ(TextOf(status), "a: 2 is over this server's limit of 1 (--a)");
}

TEST(WithFieldTest, MovesTheFieldOfTextAndInfo) {
  const absl::Status levels = WithField("detector", OutOfRangeError("levels", 13, 1, 12));
  EXPECT_EQ(levels.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(TextOf(levels), "detector.levels: 13 is not in 1..12");
  EXPECT_EQ(InfoOf(levels), "reason=OUT_OF_RANGE field=detector.levels value=13 lowest=1 highest=12");
  const absl::Status set = WithField("query", LimitError("descriptors", 3, "descriptors", 2, "--x"));
  EXPECT_EQ(TextOf(set), "query.descriptors: 3 descriptors are over this server's limit of 2 (--x)");
  EXPECT_EQ(InfoOf(set), "reason=OVER_LIMIT field=query.descriptors value=3 highest=2 flag=--x");
}

// Decoders call it "image", whichever it is.
TEST(WithFieldTest, AnImageIsTheOuterFieldItself) {
  const absl::Status width = WithField("images[2]", OutOfRangeError("image.width", 0, 1, 16384));
  EXPECT_EQ(TextOf(width), "images[2].width: 0 is not in 1..16384");
  EXPECT_EQ(InfoOf(width), "reason=OUT_OF_RANGE field=images[2].width value=0 lowest=1 highest=16384");
  EXPECT_EQ(TextOf(WithField("left", ContradictionError("image", "has no pixels"))), "left: has no pixels");
  EXPECT_EQ(TextOf(WithField("mask", ContradictionError("images", "are two"))), "mask.images: are two");
}

TEST(WithFieldTest, WorksOnTextsOfOtherErrors) {
  absl::Status region = absl::NotFoundError("image.region: no memory is registered as \"a\"");
  region.SetPayload(kDeviceErrorPayload, absl::Cord("kept"));
  const absl::Status moved = WithField("left", region);
  EXPECT_EQ(TextOf(moved), "left.region: no memory is registered as \"a\"");
  EXPECT_EQ(moved.GetPayload(kDeviceErrorPayload), absl::Cord("kept"));
  EXPECT_EQ(InfoOf(moved), "none");
  const absl::Status memory = WithField("left", absl::ResourceExhaustedError("JPEG: no memory for the decoder"));
  EXPECT_EQ(TextOf(memory), "left: JPEG: no memory for the decoder");
  EXPECT_EQ(memory.code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace glint
