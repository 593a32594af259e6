#include "client/cli/source/several_pictures.h"

#include <cstdint>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace glint::cli {
namespace {

// Unsigned numbers in a file.
class FileNumbers {
 public:
  FileNumbers(absl::string_view file, bool big_endian) : file_(file), big_endian_(big_endian) {}

  // Of `size` bytes at `place`; 0 if the file ends before.
  uint64_t operator()(uint64_t place, size_t size) const {
    if (place > file_.size() || file_.size() - place < size) return 0;
    uint64_t value = 0;
    for (size_t i = 0; i < size; ++i) {
      const char byte = file_[place + (big_endian_ ? i : size - 1 - i)];
      value = (value << 8) | static_cast<unsigned char>(byte);
    }
    return value;
  }

 private:
  const absl::string_view file_;
  const bool big_endian_;
};

// Pages that are no smaller copies and no masks of others (TIFF 6.0; BigTIFF has offsets of 8 bytes).
int64_t PagesOfTiff(absl::string_view file) {
  const FileNumbers number(file, file[0] == 'M');
  const uint64_t version = number(2, 2);
  const bool wide = version == 43;
  if (version != 42 && !wide) return 0;
  constexpr uint64_t kNewSubfileType = 254, kSubfileType = 255;
  constexpr uint64_t kReducedOrMask = 1 | 4, kReduced = 2;  // of the two tags
  const size_t offset_size = wide ? 8 : 4, count_size = wide ? 8 : 2, entry_size = wide ? 20 : 12;
  std::set<uint64_t> seen;
  int64_t pages = 0;
  uint64_t directory = number(wide ? 8 : 4, offset_size);
  while (directory != 0 && directory < file.size() && seen.insert(directory).second) {
    const uint64_t entries = number(directory, count_size);
    if (entries > (file.size() - directory) / entry_size) break;
    bool of_another = false;
    for (uint64_t i = 0; i < entries; ++i) {
      const uint64_t entry = directory + count_size + i * entry_size;
      const uint64_t tag = number(entry, 2), value = entry + 4 + offset_size;
      if (tag == kNewSubfileType && (number(value, 4) & kReducedOrMask) != 0) of_another = true;
      if (tag == kSubfileType && number(value, 2) == kReduced) of_another = true;
    }
    if (!of_another) ++pages;
    directory = number(directory + count_size + entries * entry_size, offset_size);
  }
  return pages;
}

// As the control chunk of an animation says, which comes before the pixels.
int64_t FramesOfPng(absl::string_view file) {
  const FileNumbers number(file, /*big_endian=*/true);
  constexpr size_t kSignature = 8, kAroundData = 12;
  for (uint64_t chunk = kSignature; chunk + kAroundData <= file.size();) {
    const absl::string_view type = file.substr(chunk + 4, 4);
    if (type == "acTL") return static_cast<int64_t>(number(chunk + 8, 4));
    if (type == "IDAT" || type == "IEND") break;
    chunk += kAroundData + number(chunk, 4);
  }
  return 1;
}

int64_t FramesOfWebp(absl::string_view file) {
  const FileNumbers number(file, /*big_endian=*/false);
  constexpr size_t kHeader = 12, kBeforeData = 8;
  int64_t frames = 0;
  for (uint64_t chunk = kHeader; chunk + kBeforeData <= file.size();) {
    if (file.substr(chunk, 4) == "ANMF") ++frames;
    const uint64_t size = number(chunk + 4, 4);
    chunk += kBeforeData + size + size % 2;
  }
  return frames;
}

int64_t FramesOfGif(absl::string_view file) {
  const FileNumbers number(file, /*big_endian=*/false);
  const auto table_size = [](uint64_t flags) -> uint64_t {
    return (flags & 0x80) != 0 ? uint64_t{3} << ((flags & 7) + 1) : 0;
  };
  uint64_t at = 13 + table_size(number(10, 1));  // behind the screen's descriptor
  int64_t frames = 0;
  while (at < file.size()) {
    const uint64_t kind = number(at, 1);
    if (kind == 0x2C) {  // an image: its descriptor, table and code size
      ++frames;
      at += 11 + table_size(number(at + 9, 1));
    } else if (kind == 0x21) {  // an extension
      at += 2;
    } else {
      break;
    }
    while (number(at, 1) != 0) at += 1 + number(at, 1);  // blocks of data
    ++at;
  }
  return frames;
}

// The next number of a PNM header, past white space and comments; false: there is none.
bool TakePnmNumber(absl::string_view* text, uint64_t* value) {
  while (!text->empty() && !absl::ascii_isdigit(static_cast<unsigned char>(text->front()))) {
    const bool comment = text->front() == '#';
    if (!comment && !absl::ascii_isspace(static_cast<unsigned char>(text->front()))) return false;
    const size_t end = comment ? text->find('\n') : 0;
    if (end == absl::string_view::npos) return false;
    text->remove_prefix(end + 1);
  }
  size_t digits = 0;
  while (digits < text->size() && absl::ascii_isdigit(static_cast<unsigned char>((*text)[digits]))) ++digits;
  uint32_t number = 0;
  const bool good = absl::SimpleAtoi(text->substr(0, digits), &number);
  text->remove_prefix(digits);
  *value = number;
  return good;
}

// Binary ones (P4 to P6); of plain ones a file has one by definition.
int64_t PicturesOfPnm(absl::string_view file) {
  int64_t pictures = 0;
  while (file.size() > 2 && file[0] == 'P' && file[1] >= '4' && file[1] <= '6') {
    const char kind = file[1];
    file.remove_prefix(2);
    uint64_t width = 0, height = 0, white = 1;
    if (!TakePnmNumber(&file, &width) || !TakePnmNumber(&file, &height)) break;
    if (kind != '4' && !TakePnmNumber(&file, &white)) break;
    ++pictures;
    const uint64_t samples = kind == '6' ? 3 * width : width;
    const uint64_t row = kind == '4' ? (width + 7) / 8 : white > 255 ? 2 * samples : samples;
    if (file.empty() || height == 0 || row > (file.size() - 1) / height) break;
    file.remove_prefix(1 + row * height);
    while (!file.empty() && absl::ascii_isspace(static_cast<unsigned char>(file[0]))) file.remove_prefix(1);
  }
  return pictures;
}

// Those that its index (CIPA DC-007) has as parts of a panorama, or as views of one scene: not previews and maps.
int64_t ViewsOfJpeg(absl::string_view file) {
  const FileNumbers in_file(file, /*big_endian=*/true);
  constexpr uint64_t kScan = 0xDA, kApp2 = 0xE2, kEntries = 0xB002;
  constexpr absl::string_view kMpf("MPF\0", 4);
  for (uint64_t marker = 2; in_file(marker, 1) == 0xFF && in_file(marker + 1, 1) != kScan;) {
    const uint64_t size = in_file(marker + 2, 2);
    if (size < 2) break;
    const absl::string_view segment = file.substr(marker + 4, size - 2);
    if (in_file(marker + 1, 1) == kApp2 && absl::StartsWith(segment, kMpf)) {
      const absl::string_view index = segment.substr(kMpf.size());
      const FileNumbers number(index, absl::StartsWith(index, "MM"));
      const uint64_t directory = number(4, 4), fields = number(directory, 2);
      int64_t views = 0;
      for (uint64_t i = 0; i < fields; ++i) {
        const uint64_t field = directory + 2 + 12 * i;
        if (number(field, 2) != kEntries) continue;
        const uint64_t bytes = number(field + 4, 4), entries = number(field + 8, 4);
        for (uint64_t at = 0; at + 16 <= bytes && entries + at < index.size(); at += 16) {
          if (((number(entries + at, 4) >> 16) & 0xFF) == 2) ++views;
        }
      }
      return views;
    }
    marker += 2 + size;
  }
  return 1;
}

}  // namespace

std::string SeveralPictures(absl::string_view file) {
  int64_t count = 0;
  absl::string_view what;
  if (absl::StartsWith(file, "II") || absl::StartsWith(file, "MM")) {
    count = PagesOfTiff(file);
    what = "pages (TIFF)";
  } else if (absl::StartsWith(file, "\x89PNG\r\n\x1a\n")) {
    count = FramesOfPng(file);
    what = "frames (animated PNG)";
  } else if (absl::StartsWith(file, "GIF8")) {
    count = FramesOfGif(file);
    what = "frames (GIF)";
  } else if (file.size() >= 12 && absl::StartsWith(file, "RIFF") && file.substr(8, 4) == "WEBP") {
    count = FramesOfWebp(file);
    what = "frames (animated WebP)";
  } else if (absl::StartsWith(file, "\xFF\xD8\xFF")) {
    count = ViewsOfJpeg(file);
    what = "views (multi-picture JPEG)";
  } else if (absl::StartsWith(file, "P")) {
    count = PicturesOfPnm(file);
    what = "pictures (PNM)";
  } else if (file.size() >= 12 && file.substr(4, 8) == "ftypavis") {
    return "a sequence of frames (AVIF)";
  }
  return count > 1 ? absl::StrCat(count, " ", what) : "";
}

absl::Status CheckOnePicture(const std::string& name, absl::string_view file) {
  const std::string several = SeveralPictures(file);
  if (several.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      name, ": has ", several, ", of which the first alone would be read; save each picture as a file of its own"));
}

}  // namespace glint::cli
