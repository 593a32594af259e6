#include "server/operations/track/track_parser.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "features/error.h"

namespace glint {
namespace {

constexpr size_t kHomography = 9;

// A repeated field of numbers, packed or not: take() reads each. How many there were.
template <typename Take>
size_t ReadRepeated(WireReader* in, uint32_t tag, Take take) {
  size_t count = 0;
  const auto one = [&] {
    take();
    ++count;
  };
  if ((tag & 7) == static_cast<uint32_t>(WireType::kBytes)) {
    in->Packed(one);
  } else {
    one();
  }
  return count;
}

// A glint.v1.TrackPrediction; null: it is only counted. The elements of its longest array; a homography's do not count.
size_t ReadPrediction(WireReader* in, TrackPrediction* prediction) {
  constexpr auto kFloat = WireType::kFixed32;
  size_t homography = 0, ids = 0, x = 0, y = 0;
  const auto floats = [&](uint32_t tag, size_t* count, std::vector<float>* out) {
    *count += ReadRepeated(in, tag, [&] {
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
        ids += ReadRepeated(in, tag, [&] {
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
      case BytesTag(4): {
        WireImage beyond;
        const size_t at = request->images++;
        ReadImage(in, at < request->image.size() ? &request->image[at] : &beyond);
        break;
      }
      case VarintTag(5):
        request->detect = in->Varint() != 0;
        break;
      case BytesTag(6):
        request->predicted += ReadPrediction(in, nullptr);
        ++request->predictions;
        break;
      default:
        in->Unknown(tag);
    }
  });
}

}  // namespace

bool ParseTrackStreamRequest(decode::Pieces message, WireTrackStreamRequest* request) {
  *request = WireTrackStreamRequest();
  WireReader in(message);
  uint32_t content = 0;
  while (const uint32_t tag = in.NextField()) {
    if (tag < BytesTag(1) || tag > BytesTag(5) || (tag & 7) != static_cast<uint32_t>(WireType::kBytes)) {
      in.Unknown(tag);
      continue;
    }
    if (content != 0 && content != tag) in.Fail();
    content = tag;
    switch (tag) {
      case BytesTag(1):
        request->content = WireContent::kOptions;
        in.Unknown(tag);
        break;
      case BytesTag(2):
        request->content = WireContent::kFrame;
        ReadTrackFrame(&in, request);
        break;
      default:
        request->content = WireContent::kEdit;
        ReadEditId(&in, request);
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
    return LimitError("elements of predictions", static_cast<int64_t>(request.predicted), options.max_tracks,
                      "--max-tracks");
  }
  return absl::OkStatus();
}

void UnpackPredictions(decode::Pieces message, TrackPredictions* predictions) {
  predictions->count = 0;
  WireReader in(message);
  while (const uint32_t tag = in.NextField()) {
    if (tag != BytesTag(2)) {
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
