#include "server/operations/stereo/stereo_parser.h"

namespace glint {

bool ParseStereoStreamRequest(decode::Pieces message, WireStereoStreamRequest* request) {
  *request = WireStereoStreamRequest();
  WireReader in(message);
  while (const uint32_t tag = in.NextField()) {
    if (tag != BytesTag(2)) {
      if (tag == BytesTag(1)) SetContent(WireContent::kOptions, &in, request);
      in.Unknown(tag);
      continue;
    }
    SetContent(WireContent::kFrame, &in, request);
    in.Message([&](uint32_t field) {
      if (field == VarintTag(5)) {
        request->left_time_ns = static_cast<int64_t>(in.Varint());
      } else if (field == VarintTag(6)) {
        request->right_time_ns = static_cast<int64_t>(in.Varint());
      } else if (!ReadEyes(&in, field, request, &request->eyes)) {
        in.Unknown(field);
      }
    });
  }
  return in.ok();
}

}  // namespace glint
