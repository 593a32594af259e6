#include "server/wire/options_images.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "features/error.h"
#include "server/wire/wire_writer.h"

namespace glint {
namespace {

// Separates images from the other options of a message.
class OptionsSplitter {
 public:
  OptionsSplitter(decode::Pieces message, uint32_t last_member, absl::Span<OptionImages> images)
      : message_(message), last_member_(last_member), images_(images), in_(message) {
    Forget();
  }

  // False if the message is malformed.
  bool Run() {
    while (const uint32_t tag = in_.NextField()) {
      if (tag == BytesTag(1)) {
        present_ = true;
        in_.Message([this](uint32_t inner) { OptionsField(inner); });
      } else {
        if (tag <= BytesTag(last_member_) && TypeOf(tag) == WireType::kBytes) Forget();
        in_.Unknown(tag);
      }
    }
    return in_.ok();
  }

  bool present() const { return present_; }
  // The serialized options without images; incomplete beyond kMaxOptionsBytes.
  const std::string& rest() const { return rest_; }
  size_t bytes_apart_from_images() const { return decode::TotalBytes(message_) - image_bytes_; }

 private:
  static WireType TypeOf(uint32_t tag) { return static_cast<WireType>(tag & 7); }

  // Clears the options: the oneof has another content.
  void Forget() {
    present_ = false;
    image_bytes_ = 0;
    rest_.clear();
    for (OptionImages& images : images_) {
      images.count = 0;
      images.images.clear();
    }
  }

  void OptionsField(uint32_t tag) {
    const auto images = std::find_if(images_.begin(), images_.end(),
                                     [tag](const OptionImages& image) { return tag == BytesTag(image.field); });
    if (images != images_.end()) return ReadImageOf(&*images);
    switch (TypeOf(tag)) {
      case WireType::kVarint: {
        const uint64_t value = in_.Varint();
        if (rest_.size() < kMaxOptionsBytes) AppendVarintField(tag >> 3, value, &rest_);
        break;
      }
      case WireType::kFixed32:
        CopyFixed(tag, 1);
        break;
      case WireType::kFixed64:
        CopyFixed(tag, 2);
        break;
      case WireType::kBytes: {
        const WireBytes bytes = in_.Bytes();
        if (bytes.size <= kMaxOptionsBytes && rest_.size() <= kMaxOptionsBytes) CopyBytes(tag >> 3, bytes);
        break;
      }
      default:
        in_.Unknown(tag);  // groups, which are not proto3's
    }
  }

  // Tag and length of each image count towards the limit of options, which bounds their number.
  void ReadImageOf(OptionImages* of) {
    WireReader again = in_;
    WireImage beyond;
    WireImage* image = &beyond;
    if (of->most == 0) {
      of->count = 1;
      of->images.resize(1);
      image = of->images.data();
    } else if (++of->count <= of->most) {
      image = &of->images.emplace_back();
    }
    ReadImage(&in_, image);
    image_bytes_ += again.Bytes().size;
  }

  void CopyFixed(uint32_t tag, int words) {
    const bool has_room = rest_.size() < kMaxOptionsBytes;
    if (has_room) AppendVarint(tag, &rest_);
    for (int i = 0; i < words; ++i) {
      const uint32_t bits = in_.Fixed32();
      if (has_room) AppendFixed32(bits, &rest_);
    }
  }

  void CopyBytes(uint32_t field, const WireBytes& bytes) {
    std::vector<absl::Span<const uint8_t>> pieces;
    AppendPieces(message_, bytes, &pieces);
    std::vector<uint8_t> scratch;
    const auto contiguous = decode::Contiguous(pieces, &scratch);
    AppendBytesField(field, {reinterpret_cast<const char*>(contiguous.data()), contiguous.size()}, &rest_);
  }

  const decode::Pieces message_;
  const uint32_t last_member_;
  const absl::Span<OptionImages> images_;
  WireReader in_;
  bool present_ = false;
  size_t image_bytes_ = 0;
  std::string rest_;
};

}  // namespace

absl::StatusOr<std::string> SplitOptions(decode::Pieces message, const std::string& name, uint32_t last_member,
                                         absl::Span<OptionImages> images) {
  OptionsSplitter splitter(message, last_member, images);
  if (!splitter.Run()) return absl::InvalidArgumentError(absl::StrCat("message: not a serialized ", name));
  if (!splitter.present()) {
    return absl::FailedPreconditionError("options: missing; the first message of a stream carries them");
  }
  if (splitter.bytes_apart_from_images() > kMaxOptionsBytes) {
    return TooLargeError("options", splitter.bytes_apart_from_images(), kMaxOptionsBytes, "bytes apart from masks");
  }
  return splitter.rest();
}

}  // namespace glint
