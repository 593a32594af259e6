#include "server/operations/detect/stream_options.h"

#include <string>

#include "features/error.h"
#include "server/wire/wire_writer.h"

namespace glint {
namespace {

using Pieces = std::vector<absl::Span<const uint8_t>>;

constexpr uint32_t kOptionsTag = WireTag(v1::DetectStreamRequest::kOptionsFieldNumber, WireType::kBytes);
constexpr uint32_t kFrameTag = WireTag(v1::DetectStreamRequest::kFrameFieldNumber, WireType::kBytes);
constexpr uint32_t kMaskTag = WireTag(v1::DetectStreamOptions::kMaskFieldNumber, WireType::kBytes);

absl::Status NotAMessage() {
  return absl::InvalidArgumentError("message: not a serialized glint.v1.DetectStreamRequest");
}

// Separates the mask from the other options of a message.
class OptionsSplitter {
 public:
  explicit OptionsSplitter(decode::Pieces message) : message_(message), in_(message) {}

  // False if the message is malformed.
  bool Run() {
    while (const uint32_t tag = in_.NextField()) {
      if (tag == kOptionsTag) {
        present_ = true;
        in_.Message([this](uint32_t inner) { OptionsField(inner); });
      } else {
        if (tag == kFrameTag) Forget();
        in_.Unknown(tag);
      }
    }
    return in_.ok();
  }

  bool present() const { return present_; }
  bool has_mask() const { return masks_ > 0; }
  // The serialized mask: all occurrences, concatenated, which merges them.
  const Pieces& mask() const { return mask_; }
  // The serialized options without the mask; incomplete beyond kMaxOptionsBytes.
  const std::string& rest() const { return rest_; }
  size_t bytes_apart_from_mask() const { return decode::TotalBytes(message_) - decode::TotalBytes(mask_); }

 private:
  // Clears the options: the oneof has its other content.
  void Forget() {
    present_ = false;
    masks_ = 0;
    mask_.clear();
    rest_.clear();
  }

  void OptionsField(uint32_t tag) {
    if (tag == kMaskTag) {
      WireReader again = in_;
      WireImage part;  // each must be an image by itself: two halves of one are not merged
      ReadImage(&in_, &part);
      if (!in_.ok()) return;
      const WireBytes bytes = again.Bytes();
      // Tag and length of each occurrence count towards the limit of options, which bounds their number.
      if (++masks_ <= kMaxOptionsBytes / 2) AppendPieces(message_, bytes, &mask_);
    } else if ((tag & 7) == static_cast<uint32_t>(WireType::kVarint)) {
      const uint64_t value = in_.Varint();
      if (rest_.size() < kMaxOptionsBytes) AppendVarintField(tag >> 3, value, &rest_);
    } else if ((tag & 7) == static_cast<uint32_t>(WireType::kBytes)) {
      const WireBytes bytes = in_.Bytes();
      if (bytes.size > kMaxOptionsBytes || rest_.size() > kMaxOptionsBytes) return;
      Pieces pieces;
      AppendPieces(message_, bytes, &pieces);
      std::vector<uint8_t> scratch;
      const auto contiguous = decode::Contiguous(pieces, &scratch);
      AppendBytesField(tag >> 3, {reinterpret_cast<const char*>(contiguous.data()), contiguous.size()}, &rest_);
    } else {
      in_.Unknown(tag);
    }
  }

  const decode::Pieces message_;
  WireReader in_;
  bool present_ = false;
  size_t masks_ = 0;
  Pieces mask_;
  std::string rest_;
};

}  // namespace

absl::Status ParseStreamOptions(decode::Pieces bytes, StreamOptionsMessage* message) {
  OptionsSplitter splitter(bytes);
  if (!splitter.Run()) return NotAMessage();
  if (!splitter.present()) {
    return absl::FailedPreconditionError("options: missing; the first message of a stream carries them");
  }
  if (splitter.bytes_apart_from_mask() > kMaxOptionsBytes) {
    return TooLargeError("options", splitter.bytes_apart_from_mask(), kMaxOptionsBytes, "bytes apart from the mask");
  }
  if (!message->options.ParseFromString(splitter.rest())) return NotAMessage();
  message->options.DiscardUnknownFields();
  message->has_mask = splitter.has_mask();
  message->mask_pieces = splitter.mask();
  if (message->has_mask && !ParseImage(message->mask_pieces, &message->mask)) return NotAMessage();
  return absl::OkStatus();
}

}  // namespace glint
