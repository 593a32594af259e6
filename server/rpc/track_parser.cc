#include "server/rpc/track_parser.h"

namespace glint {
namespace {

void ReadTrackFrame(WireReader* in, WireStreamRequest* request) {
  WireFrame& frame = request->frame;
  WireTrack& track = request->track;
  in->Message([&](uint32_t tag) {
    switch (tag) {
      case VarintTag(1):
        frame.frame_id = in->Varint();
        break;
      case VarintTag(2):
        frame.max_age_ns = static_cast<int64_t>(in->Varint());
        break;
      case VarintTag(3):
        track.time_ns = static_cast<int64_t>(in->Varint());
        break;
      case BytesTag(4): {
        WireImage beyond;
        const size_t at = track.images++;
        ReadImage(in, at < track.image.size() ? &track.image[at] : &beyond);
        break;
      }
      case VarintTag(5):
        track.detect = in->Varint() != 0;
        break;
      default:
        in->Unknown(tag);
    }
  });
}

// What all edits have.
void ReadEditId(WireReader* in, WireFrame* frame) {
  in->Message([&](uint32_t tag) {
    if (tag == VarintTag(1)) {
      frame->frame_id = in->Varint();
    } else {
      in->Unknown(tag);
    }
  });
}

}  // namespace

bool ParseTrackStreamRequest(decode::Pieces message, WireStreamRequest* request) {
  using Content = WireStreamRequest::Content;
  *request = WireStreamRequest();
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
        request->content = Content::kOptions;
        in.Unknown(tag);
        break;
      case BytesTag(2):
        request->content = Content::kFrame;
        ReadTrackFrame(&in, request);
        break;
      default:
        request->content = Content::kEdit;
        ReadEditId(&in, &request->frame);
    }
  }
  return in.ok();
}

}  // namespace glint
