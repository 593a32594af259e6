#include "server/operations/localize/localize_parser.h"

namespace glint {
namespace {

// The members of a LocalizeStreamRequest's oneof.
constexpr uint32_t kOptions = BytesTag(1), kPair = BytesTag(2), kRelocalize = BytesTag(3), kGetMap = BytesTag(4),
                   kLoadMap = BytesTag(6);

void ReadLocalizePair(WireReader* in, WireLocalizeStreamRequest* request) {
  in->Message([&](uint32_t tag) {
    if (tag == VarintTag(5)) {
      request->time_ns = static_cast<int64_t>(in->Varint());
    } else if (tag == BytesTag(6)) {
      request->has_depth = true;
      ReadImage(in, &request->depth);
    } else if (!ReadImagePair(in, tag, request, &request->pair)) {
      in->Unknown(tag);
    }
  });
}

// Options and requests about maps are small, and protobuf's: here it matters whether it will take them.
void CheckStereoCamera(WireReader* in) {
  in->Message([in](uint32_t tag) {
    if (tag == BytesTag(7) || tag == BytesTag(8)) return in->Packed([in] { in->Fixed32(), in->Fixed32(); });
    if (tag == BytesTag(9)) return in->Message([in](uint32_t axis) { in->Unknown(axis); });
    in->Unknown(tag);
  });
}

void CheckLocalizeOptions(WireReader* in) {
  in->Message([in](uint32_t tag) {
    switch (tag) {
      case BytesTag(1):
        return CheckDetectorOptions(in);
      case BytesTag(2):
        return CheckStereoCamera(in);
      case BytesTag(8):
      case BytesTag(9):
        return in->Message([in](uint32_t field) { in->Unknown(field); });  // depth, gray_range
      case BytesTag(10):
        return CheckStereoRig(in);
      case BytesTag(11):
        return CheckRgbdCamera(in);
      case BytesTag(12):
      case BytesTag(13):
        return CheckImage(in);
      case BytesTag(14):
        return CheckRegion(in);
      default:
        in->Unknown(tag);
    }
  });
}

void ReadMapRequest(uint32_t member, WireReader* in, WireLocalizeStreamRequest* request) {
  in->Message([&](uint32_t tag) {
    if (tag == VarintTag(1)) {
      request->frame_id = in->Varint();
    } else if (tag != BytesTag(2)) {
      in->Unknown(tag);
    } else if (member == kGetMap) {
      in->Message([in](uint32_t position) { in->Unknown(position); });
    } else {
      in->String();
    }
  });
}

}  // namespace

bool ParseLocalizeStreamRequest(decode::Pieces message, WireLocalizeStreamRequest* request) {
  *request = WireLocalizeStreamRequest();
  WireReader in(message);
  uint32_t member = 0;
  while (const uint32_t tag = in.NextField()) {
    if (tag < kOptions || tag > kLoadMap || (tag & 7) != static_cast<uint32_t>(WireType::kBytes)) {
      in.Unknown(tag);
      continue;
    }
    if (member != tag) *request = WireLocalizeStreamRequest();
    member = tag;
    switch (tag) {
      case kOptions:
        request->content = WireContent::kOptions;
        CheckLocalizeOptions(&in);
        break;
      case kPair:
      case kRelocalize:
        request->content = WireContent::kFrame;
        request->relocalize = tag == kRelocalize;
        ReadLocalizePair(&in, request);
        break;
      default:
        request->content = WireContent::kEdit;
        ReadMapRequest(tag, &in, request);
    }
  }
  return in.ok();
}

}  // namespace glint
