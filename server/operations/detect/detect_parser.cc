#include "server/operations/detect/detect_parser.h"

namespace glint {
namespace {

void ReadFrame(WireReader* in, WireDetectStreamRequest* frame) {
  in->Message([&](uint32_t tag) {
    switch (tag) {
      case VarintTag(1):
        frame->frame_id = in->Varint();
        break;
      case VarintTag(2):
        frame->max_age_ns = static_cast<int64_t>(in->Varint());
        break;
      case BytesTag(3):
        frame->has_image = true;
        ReadImage(in, &frame->image);
        break;
      case BytesTag(4):
        frame->has_mask = true;
        ReadImage(in, &frame->mask);
        break;
      case BytesTag(5):
        ReadRegion(in, &frame->region);
        break;
      default:
        in->Unknown(tag);
    }
  });
}

void CheckStreamOptions(WireReader* in) {
  in->Message([&](uint32_t tag) {
    WireImage mask;
    Region region;
    WireGrayRange range;
    switch (tag) {
      case BytesTag(1):
        CheckDetectorOptions(in);
        break;
      case BytesTag(2):
        ReadImage(in, &mask);
        break;
      case BytesTag(3):
        ReadRegion(in, &region);
        break;
      case BytesTag(7):
        ReadGrayRange(in, &range);
        break;
      case BytesTag(8):
        CheckCamera(in);
        break;
      default:
        in->Unknown(tag);
    }
  });
}

}  // namespace

bool ParseDetectStreamRequest(decode::Pieces message, WireDetectStreamRequest* request) {
  *request = WireDetectStreamRequest();
  WireReader in(message);
  while (const uint32_t tag = in.NextField()) {
    switch (tag) {
      case BytesTag(1):
        request->content = WireContent::kOptions;
        CheckStreamOptions(&in);
        break;
      case BytesTag(2):
        if (request->content != WireContent::kFrame) *request = WireDetectStreamRequest();
        request->content = WireContent::kFrame;
        ReadFrame(&in, request);
        break;
      default:
        in.Unknown(tag);
    }
  }
  return in.ok();
}

bool ParseDetectRequest(decode::Pieces message, WireDetectRequest* request) {
  request->detector.clear();
  request->has_image = request->has_mask = false;
  request->image = request->mask = WireImage();
  request->region = Region();
  request->gray_range = WireGrayRange();
  request->has_camera = false;
  request->camera.clear();
  size_t detector_bytes = 0;
  WireReader in(message);
  while (const uint32_t tag = in.NextField()) {
    switch (tag) {
      case BytesTag(1): {
        WireReader again = in;
        CheckDetectorOptions(&in);
        if (!in.ok()) break;
        const WireBytes detector = again.Bytes();
        if (detector_bytes <= kMaxOptionsBytes) AppendPieces(message, detector, &request->detector);
        detector_bytes += detector.size;
        break;
      }
      case BytesTag(2):
        request->has_image = true;
        ReadImage(&in, &request->image);
        break;
      case BytesTag(3):
        request->has_mask = true;
        ReadImage(&in, &request->mask);
        break;
      case BytesTag(4):
        ReadRegion(&in, &request->region);
        break;
      case BytesTag(5):
        ReadGrayRange(&in, &request->gray_range);
        break;
      case BytesTag(6): {
        WireReader again = in;
        CheckCamera(&in);
        if (!in.ok()) break;
        request->has_camera = true;
        AppendText(message, again.Bytes(), kMaxCameraBytes + 1, &request->camera);
        break;
      }
      default:
        in.Unknown(tag);
    }
  }
  return in.ok();
}

}  // namespace glint
