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

}  // namespace

bool ParseStereoStreamRequest(decode::Pieces message, WireStereoStreamRequest* request) {
  *request = WireStereoStreamRequest();
  WireReader in(message);
  while (const uint32_t tag = in.NextField()) {
    switch (tag) {
      case BytesTag(1):
        request->content = WireContent::kOptions;
        CheckOperationOptions(&in, 7, 8);
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
