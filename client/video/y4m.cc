#include "client/video/y4m.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "features/error.h"
#include "features/limits.h"
#include "features/status_macros.h"

namespace glint::video {
namespace {

constexpr size_t kMaxHeaderLine = 1024, kMaxFrameLine = 256;  // bytes
constexpr absl::string_view kFrame = "FRAME";

constexpr std::pair<absl::string_view, Chroma> kChromas[] = {
    {"420", Chroma::k420}, {"420jpeg", Chroma::k420}, {"420mpeg2", Chroma::k420}, {"420paldv", Chroma::k420},
    {"422", Chroma::k422}, {"444", Chroma::k444},     {"mono", Chroma::kMono},
};

// Digits and nothing else; absl::SimpleAtoi() takes signs and spaces, too.
bool ParseNumber(absl::string_view text, int32_t* number) {
  const bool digits = std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  return digits && absl::SimpleAtoi(text, number);
}

absl::Status ParseSide(absl::string_view name, absl::string_view text, int* side) {
  int32_t value = 0;
  if (!ParseNumber(text, &value) || value < 1 || value > kMaxImageSide) {
    return OutOfRangeError(name, text, 1, kMaxImageSide);
  }
  *side = value;
  return absl::OkStatus();
}

absl::Status ParseRate(absl::string_view text, Y4mHeader* header) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ':');
  int32_t numerator = 0, denominator = 0;
  const bool numbers = parts.size() == 2 && ParseNumber(parts[0], &numerator) && ParseNumber(parts[1], &denominator);
  const bool unknown = numbers && numerator == 0;  // 0:0, and GStreamer's 0:1
  if (!numbers || (!unknown && (numerator < 1 || denominator < 1))) {
    return ContradictionError("y4m.F", absl::StrCat("\"", Echo(text), "\" is no rate such as 25:1"));
  }
  header->rate_numerator = numerator;
  header->rate_denominator = unknown ? 0 : denominator;
  return absl::OkStatus();
}

absl::Status ParseChroma(absl::string_view text, Y4mHeader* header) {
  const auto* const at =
      std::find_if(std::begin(kChromas), std::end(kChromas), [text](const auto& c) { return c.first == text; });
  if (at == std::end(kChromas)) return NotOneOfError("y4m.C", text, "420, 420jpeg, 420mpeg2, 420paldv, 422, 444, mono");
  header->chroma = at->second;
  return absl::OkStatus();
}

absl::Status ParseField(absl::string_view field, Y4mHeader* header) {
  const absl::string_view value = field.substr(1);
  switch (field[0]) {
    case 'W':
      return ParseSide("y4m.W", value, &header->shape.width);
    case 'H':
      return ParseSide("y4m.H", value, &header->shape.height);
    case 'F':
      return ParseRate(value, header);
    case 'C':
      return ParseChroma(value, header);
    case 'I':  // interlacing; rows are read as they are
      if (value.size() == 1 && absl::StrContains("?ptbm", value)) return absl::OkStatus();
      return NotOneOfError("y4m.I", value, "?, p, t, b, m");
    case 'A':  // the pixels' aspect
    case 'X':  // comments
      return absl::OkStatus();
    default:
      return ContradictionError("y4m", absl::StrCat("\"", Echo(field), "\" is no field of a header"));
  }
}

}  // namespace

Shape Y4mHeader::chroma_shape() const {
  if (chroma == Chroma::kMono) return {};
  const bool wide = chroma == Chroma::k444, high = chroma != Chroma::k420;
  return {wide ? shape.width : (shape.width + 1) / 2, high ? shape.height : (shape.height + 1) / 2};
}

bool Y4mHeader::operator==(const Y4mHeader& other) const {
  return shape == other.shape && chroma == other.chroma && rate_numerator == other.rate_numerator &&
         rate_denominator == other.rate_denominator;
}

absl::StatusOr<Y4mHeader> ParseY4mHeader(absl::string_view fields) {
  Y4mHeader header;
  std::string seen;
  for (const absl::string_view field : absl::StrSplit(fields, ' ')) {
    if (field.empty()) return ContradictionError("y4m", "an empty field in the header");
    if (field[0] != 'X' && absl::StrContains(seen, field.substr(0, 1))) {
      return ContradictionError("y4m", absl::StrCat("field \"", Echo(field.substr(0, 1)), "\" is there twice"));
    }
    seen += field[0];
    GLINT_RETURN_IF_ERROR(ParseField(field, &header));
  }
  if (header.shape.width == 0 || header.shape.height == 0)
    return ContradictionError("y4m", "no W or no H in the header");
  return header;
}

absl::StatusOr<size_t> Y4mReader::ReadAll(uint8_t* to, size_t size) {
  size_t done = 0;
  while (done < size) {
    GLINT_ASSIGN_OR_RETURN(const auto read, bytes_->Read(to + done, size - done));
    if (read == 0) break;
    done += read;
  }
  return done;
}

absl::StatusOr<std::string> Y4mReader::ReadLine(size_t limit) {
  std::string line;
  for (uint8_t byte = 0;;) {  // one by one, so that nothing of the frame is taken
    GLINT_ASSIGN_OR_RETURN(const auto read, ReadAll(&byte, 1));
    if (read == 0) return ContradictionError("y4m", "ends in a header");
    if (byte == '\n') return line;
    if (line.size() == limit) return ContradictionError("y4m", absl::StrCat("a header of more than ", limit, " bytes"));
    line += static_cast<char>(byte);
  }
}

absl::Status Y4mReader::ReadHeader() {
  std::array<uint8_t, kY4mMagic.size() + 1> magic;
  GLINT_ASSIGN_OR_RETURN(const auto read, ReadAll(magic.data(), magic.size()));
  const absl::string_view text(reinterpret_cast<const char*>(magic.data()), read);
  if (text.empty()) return ContradictionError("y4m", "no bytes");
  if (text != absl::StrCat(kY4mMagic, " ")) {
    return ContradictionError("y4m", absl::StrCat("begins with \"", Echo(text), "\" instead of \"", kY4mMagic, " \""));
  }
  GLINT_ASSIGN_OR_RETURN(const auto line, ReadLine(kMaxHeaderLine));
  GLINT_ASSIGN_OR_RETURN(header_, ParseY4mHeader(line));
  return absl::OkStatus();
}

std::string Y4mReader::FrameName() const { return absl::StrCat("y4m.frame ", frames_); }

absl::Status Y4mReader::ReadFrameLine() {
  while (true) {
    std::array<uint8_t, kFrame.size() + 1> begin;
    GLINT_ASSIGN_OR_RETURN(const auto read, ReadAll(begin.data(), begin.size()));
    if (read == 0) return absl::OutOfRangeError("no more frames");
    const absl::string_view text(reinterpret_cast<const char*>(begin.data()), read);
    if (text == "FRAME\n") return absl::OkStatus();
    if (text == "FRAME ") return ReadLine(kMaxFrameLine).status();
    if (text != kY4mMagic.substr(0, begin.size())) {
      return ContradictionError(FrameName(), absl::StrCat("begins with \"", Echo(text), "\" instead of \"FRAME\""));
    }
    GLINT_RETURN_IF_ERROR(ReadAnotherHeader());
  }
}

absl::Status Y4mReader::ReadAnotherHeader() {
  GLINT_ASSIGN_OR_RETURN(const auto line, ReadLine(kMaxHeaderLine));
  absl::string_view fields = line;
  if (!absl::ConsumePrefix(&fields, absl::StrCat(kY4mMagic.substr(kFrame.size() + 1), " "))) {
    return ContradictionError(FrameName(), "neither a frame nor a header");
  }
  GLINT_ASSIGN_OR_RETURN(const auto header, ParseY4mHeader(fields));
  if (header == header_) return absl::OkStatus();
  return ContradictionError(FrameName(), absl::StrCat("size, format or rate changes: ", header_.shape.width, "x",
                                                      header_.shape.height, " before, then \"", Echo(fields), "\""));
}

absl::Status Y4mReader::ReadPlane(uint8_t* to, size_t size) {
  GLINT_ASSIGN_OR_RETURN(const auto read, ReadAll(to, size));
  if (read == size) return absl::OkStatus();
  return ContradictionError(FrameName(), "is cut off");
}

absl::Status Y4mReader::Skip(size_t size) {
  std::array<uint8_t, 1 << 14> nowhere;
  for (size_t left = size; left > 0;) {
    const size_t step = std::min(left, nowhere.size());
    GLINT_RETURN_IF_ERROR(ReadPlane(nowhere.data(), step));
    left -= step;
  }
  return absl::OkStatus();
}

absl::Status Y4mReader::Next(uint8_t* luma, uint8_t* chroma) {
  absl::Status status = ReadFrameLine();
  if (status.ok()) status = ReadPlane(luma, header_.luma_bytes());
  if (status.ok())
    status = chroma != nullptr ? ReadPlane(chroma, header_.chroma_bytes()) : Skip(header_.chroma_bytes());
  if (status.ok()) ++frames_;
  return status;
}

}  // namespace glint::video
