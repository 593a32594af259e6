#include "server/operations/stereo/stereo_parser.h"

namespace glint {
namespace {

// No string in them but the detector's.
void CheckStereoStreamOptions(WireReader* in) {
  in->Message([in](uint32_t tag) {
    if (tag == BytesTag(1)) return CheckDetectorOptions(in);
    if (tag == BytesTag(2)) return in->Message([in](uint32_t field) { in->Unknown(field); });
    in->Unknown(tag);
  });
}

void ReadStereoPair(WireReader* in, WireStereoStreamRequest* request) {
  in->Message([&](uint32_t tag) {
    if (tag == VarintTag(5)) {
      request->left_time_ns = static_cast<int64_t>(in->Varint());
    } else if (tag == VarintTag(6)) {
      request->right_time_ns = static_cast<int64_t>(in->Varint());
    } else if (!ReadEyes(in, tag, request, &request->eyes)) {
      in->Unknown(tag);
    }
  });
}

}  // namespace

bool ParseStereoStreamRequest(decode::Pieces message, WireStereoStreamRequest* request) {
  *request = WireStereoStreamRequest();
  WireReader in(message);
  while (const uint32_t tag = in.NextField()) {
    switch (tag) {
      case BytesTag(1):
        request->content = WireContent::kOptions;
        CheckStereoStreamOptions(&in);
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
