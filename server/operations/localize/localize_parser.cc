#include "server/operations/localize/localize_parser.h"

namespace glint {
namespace {

constexpr uint32_t kOptions = BytesTag(1), kPair = BytesTag(2), kRelocalize = BytesTag(3), kLast = BytesTag(6);

void ReadLocalizePair(WireReader* in, WireLocalizeStreamRequest* request) {
  in->Message([&](uint32_t tag) {
    if (tag == VarintTag(5)) {
      request->time_ns = static_cast<int64_t>(in->Varint());
    } else if (tag == BytesTag(6)) {
      request->has_depth = true;
      ReadImage(in, &request->depth);
    } else if (!ReadEyes(in, tag, request, &request->eyes)) {
      in->Unknown(tag);
    }
  });
}

}  // namespace

bool ParseLocalizeStreamRequest(decode::Pieces message, WireLocalizeStreamRequest* request) {
  *request = WireLocalizeStreamRequest();
  WireReader in(message);
  uint32_t content = 0;
  while (const uint32_t tag = in.NextField()) {
    if (tag < kOptions || tag > kLast || (tag & 7) != static_cast<uint32_t>(WireType::kBytes)) {
      in.Unknown(tag);
      continue;
    }
    if (content != 0 && content != tag) in.Fail();
    content = tag;
    switch (tag) {
      case kOptions:
        request->content = WireContent::kOptions;
        in.Unknown(tag);
        break;
      case kPair:
      case kRelocalize:
        request->content = WireContent::kFrame;
        request->relocalize = tag == kRelocalize;
        ReadLocalizePair(&in, request);
        break;
      default:
        request->content = WireContent::kEdit;
        ReadEditId(&in, request);
    }
  }
  return in.ok();
}

}  // namespace glint
