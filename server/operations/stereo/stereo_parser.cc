#include "server/operations/stereo/stereo_parser.h"

namespace glint {
namespace {

void ReadStereoPair(WireReader* in, WireStereoStreamRequest* request) {
  in->Message([&](uint32_t tag) {
    if (tag == VarintTag(5)) {
      request->left_time_ns = static_cast<int64_t>(in->Varint());
    } else if (tag == VarintTag(6)) {
      request->right_time_ns = static_cast<int64_t>(in->Varint());
    } else if (!ReadImagePair(in, tag, request, &request->pair)) {
      in->Unknown(tag);
    }
  });
}

// A field of the options that other operations have not. False: it is none of these.
bool CheckStereoField(uint32_t tag, WireReader* in) {
  switch (tag) {
    case BytesTag(8):
      CheckStereoRig(in);
      return true;
    case BytesTag(9):
    case BytesTag(10):
      CheckImage(in);
      return true;
    case BytesTag(11):
      CheckRegion(in);
      return true;
    default:
      return false;
  }
}

}  // namespace

bool ParseStereoStreamRequest(decode::Pieces message, WireStereoStreamRequest* request) {
  *request = WireStereoStreamRequest();
  WireReader in(message);
  while (const uint32_t tag = in.NextField()) {
    switch (tag) {
      case BytesTag(1):
        request->content = WireContent::kOptions;
        CheckOperationOptions(&in, 7, [&in](uint32_t field) { return CheckStereoField(field, &in); });
        break;
      case BytesTag(2):
        if (request->content != WireContent::kFrame) *request = WireStereoStreamRequest();
        request->content = WireContent::kFrame;
        ReadStereoPair(&in, request);
        break;
      default:
        in.Unknown(tag);
    }
  }
  return in.ok();
}

}  // namespace glint
