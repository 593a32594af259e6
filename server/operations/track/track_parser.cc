#include "server/operations/track/track_parser.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "features/error.h"
#include "features/server_error.h"

namespace glint {
namespace {

constexpr size_t kHomography = 9;

// The members of a TrackStreamRequest's oneof.
constexpr uint32_t kTrackOptions = BytesTag(1), kTrackFrame = BytesTag(2), kForgetTracks = BytesTag(4),
                   kAddPoints = BytesTag(5);

bool IsTrackMember(uint32_t tag) {
  return tag >= kTrackOptions && tag <= kAddPoints && (tag & 7) == static_cast<uint32_t>(WireType::kBytes);
}

// Reads a glint.v1.TrackPrediction; null: only counts it. Returns the elements of its longest array, without the
// homography.
size_t ReadPrediction(WireReader* in, TrackPrediction* prediction) {
  constexpr auto kFloat = WireType::kFixed32;
  size_t homography = 0, ids = 0, x = 0, y = 0;
  const auto floats = [&](uint32_t tag, size_t* count, std::vector<float>* out) {
    in->Repeated(tag, [&] {
      ++*count;
      const uint32_t bits = in->Fixed32();
      if (out == nullptr) return;
      float value;
      std::memcpy(&value, &bits, sizeof(value));
      out->push_back(value);
    });
  };
  in->Message([&](uint32_t tag) {
    switch (tag) {
      case VarintTag(1): {
        const auto camera = static_cast<uint32_t>(in->Varint());
        if (prediction != nullptr) prediction->camera = camera;
        break;
      }
      case BytesTag(2):
      case WireTag(2, kFloat):
        floats(tag, &homography, prediction == nullptr ? nullptr : &prediction->homography);
        break;
      case BytesTag(3):
      case VarintTag(3):
        in->Repeated(tag, [&] {
          ++ids;
          const uint64_t id = in->Varint();
          if (prediction != nullptr) prediction->ids.push_back(id);
        });
        break;
      case BytesTag(4):
      case WireTag(4, kFloat):
        floats(tag, &x, prediction == nullptr ? nullptr : &prediction->x);
        break;
      case BytesTag(5):
      case WireTag(5, kFloat):
        floats(tag, &y, prediction == nullptr ? nullptr : &prediction->y);
        break;
      default:
        in->Unknown(tag);
    }
  });
  return std::max({homography <= kHomography ? 0 : homography, ids, x, y});
}

// Reads an image of a repeated field; it is stored if there is room.
void ReadImageOf(WireReader* in, size_t* count, std::array<WireImage, kMaxTrackCameras>* images) {
  WireImage beyond;
  const size_t at = (*count)++;
  ReadImage(in, at < images->size() ? &(*images)[at] : &beyond);
}

// Checks a glint.v1.TrackStreamOptions, which is parsed by protobuf but for its masks.
void CheckTrackOptions(WireReader* in) {
  in->Message([in](uint32_t tag) {
    WireImage mask;
    Region region;
    WireGrayRange range;
    switch (tag) {
      case BytesTag(1):
        return CheckDetectorOptions(in);
      case BytesTag(2):
        return in->Message([in](uint32_t field) { in->Unknown(field); });  // track
      case BytesTag(13):
        return ReadGrayRange(in, &range);
      case BytesTag(14):
        return ReadImage(in, &mask);
      case BytesTag(15):
        return ReadRegion(in, &region);
      case BytesTag(16):
        return CheckCamera(in);
      default:
        in->Unknown(tag);
    }
  });
}

void ReadTrackFrame(WireReader* in, WireTrackStreamRequest* request) {
  in->Message([&](uint32_t tag) {
    switch (tag) {
      case VarintTag(1):
        request->frame_id = in->Varint();
        break;
      case VarintTag(2):
        request->max_age_ns = static_cast<int64_t>(in->Varint());
        break;
      case VarintTag(3):
        request->time_ns = static_cast<int64_t>(in->Varint());
        break;
      case BytesTag(4):
        ReadImageOf(in, &request->images, &request->image);
        break;
      case VarintTag(5):
        request->detect = in->Varint() != 0;
        break;
      case BytesTag(6):
        request->predicted += ReadPrediction(in, nullptr);
        ++request->predictions;
        break;
      case BytesTag(7):
        ReadImageOf(in, &request->masks, &request->mask);
        break;
      default:
        in->Unknown(tag);
    }
  });
}

// Checks an edit, which is small and parsed by protobuf: whether protobuf will accept it.
void ReadTrackEdit(uint32_t member, WireReader* in, WireTrackStreamRequest* request) {
  in->Message([&](uint32_t tag) {
    if (tag == VarintTag(1)) {
      request->frame_id = in->Varint();
    } else if (member == kForgetTracks && tag == BytesTag(2)) {
      in->Packed([in] { in->Varint(); });
    } else if (member == kAddPoints && (tag == BytesTag(3) || tag == BytesTag(4))) {
      in->Packed([in] { in->Fixed32(); });
    } else {
      in->Unknown(tag);
    }
  });
}

// Number of frames in the message that another member of its oneof has replaced.
size_t ReplacedFrames(decode::Pieces message) {
  size_t frames = 0, replaced = 0;
  WireReader in(message);
  while (const uint32_t tag = in.NextField()) {
    if (tag == kTrackFrame) {
      ++frames;
    } else if (IsTrackMember(tag)) {
      replaced = frames;
    }
    in.Unknown(tag);
  }
  return replaced;
}

}  // namespace

bool ParseTrackStreamRequest(decode::Pieces message, WireTrackStreamRequest* request) {
  *request = WireTrackStreamRequest();
  WireReader in(message);
  uint32_t member = 0;
  while (const uint32_t tag = in.NextField()) {
    if (!IsTrackMember(tag)) {
      in.Unknown(tag);
      continue;
    }
    if (member != tag) *request = WireTrackStreamRequest();
    member = tag;
    switch (tag) {
      case kTrackOptions:
        request->content = WireContent::kOptions;
        CheckTrackOptions(&in);
        break;
      case kTrackFrame:
        request->content = WireContent::kFrame;
        ReadTrackFrame(&in, request);
        break;
      default:
        request->content = WireContent::kEdit;
        ReadTrackEdit(tag, &in, request);
    }
  }
  return in.ok();
}

absl::Status CheckPredictions(const WireTrackStreamRequest& request, const TrackingOptions& options) {
  if (request.predictions > static_cast<size_t>(options.cameras)) {
    return ContradictionError("predictions",
                              absl::StrCat(request.predictions, ", but the stream has cameras: ", options.cameras));
  }
  if (request.predicted > static_cast<size_t>(options.max_tracks)) {
    return LimitError("predictions", static_cast<int64_t>(request.predicted), "elements", options.max_tracks,
                      "--max-tracks");
  }
  return absl::OkStatus();
}

void UnpackPredictions(decode::Pieces message, TrackPredictions* predictions) {
  predictions->count = 0;
  size_t replaced = ReplacedFrames(message);
  WireReader in(message);
  while (const uint32_t tag = in.NextField()) {
    if (tag != kTrackFrame || replaced > 0) {
      if (tag == kTrackFrame) --replaced;
      in.Unknown(tag);
      continue;
    }
    in.Message([&](uint32_t inner) {
      if (inner != BytesTag(6)) return in.Unknown(inner);
      TrackPrediction& next = predictions->of[predictions->count++];
      next.Clear();
      ReadPrediction(&in, &next);
    });
  }
}

}  // namespace glint
