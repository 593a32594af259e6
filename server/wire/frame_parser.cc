#include "server/wire/frame_parser.h"

namespace glint {
namespace {

// A oneof's content: begins anew unless it is the one that is there, whose fields stay to be merged with.
void SwitchTo(WireImage::Content content, WireImage* image) {
  if (image->content == content) return;
  *image = WireImage();
  image->content = content;
}

// The fields that RawImage and SharedImage have in common.
void ReadLayoutField(uint32_t tag, WireReader* in, WireImage* image) {
  switch (tag) {
    case VarintTag(1):
      image->format = static_cast<int32_t>(in->Varint());
      break;
    case VarintTag(2):
      image->width = static_cast<uint32_t>(in->Varint());
      break;
    case VarintTag(3):
      image->height = static_cast<uint32_t>(in->Varint());
      break;
    case VarintTag(4):
      image->stride = static_cast<uint32_t>(in->Varint());
      break;
    default:
      in->Unknown(tag);
  }
}

void ReadRaw(WireReader* in, WireImage* image) {
  SwitchTo(WireImage::Content::kRaw, image);
  in->Message([&](uint32_t tag) {
    if (tag == BytesTag(5)) {
      image->data = in->Bytes();
    } else {
      ReadLayoutField(tag, in, image);
    }
  });
}

void ReadShared(WireReader* in, WireImage* image) {
  SwitchTo(WireImage::Content::kShared, image);
  in->Message([&](uint32_t tag) {
    switch (tag) {
      case BytesTag(5):
        image->data = in->String();
        break;
      case VarintTag(6):
        image->offset = in->Varint();
        break;
      default:
        ReadLayoutField(tag, in, image);
    }
  });
}

void ReadEncoded(WireReader* in, WireImage* image) {
  SwitchTo(WireImage::Content::kEncoded, image);
  in->Message([&](uint32_t tag) {
    switch (tag) {
      case VarintTag(1):
        image->encoding = static_cast<int32_t>(in->Varint());
        break;
      case BytesTag(2):
        image->data = in->Bytes();
        break;
      default:
        in->Unknown(tag);
    }
  });
}

void ReadImageField(uint32_t tag, WireReader* in, WireImage* image) {
  switch (tag) {
    case BytesTag(1):
      ReadRaw(in, image);
      break;
    case BytesTag(2):
      ReadEncoded(in, image);
      break;
    case BytesTag(3):
      ReadShared(in, image);
      break;
    default:
      in->Unknown(tag);
  }
}

}  // namespace

void ReadImage(WireReader* in, WireImage* image) {
  in->Message([&](uint32_t tag) { ReadImageField(tag, in, image); });
}

namespace {

void ReadRegion(WireReader* in, Region* region) {
  region->wanted = true;
  in->Message([&](uint32_t tag) {
    switch (tag) {
      case VarintTag(1):
        region->x = static_cast<uint32_t>(in->Varint());
        break;
      case VarintTag(2):
        region->y = static_cast<uint32_t>(in->Varint());
        break;
      case VarintTag(3):
        region->width = static_cast<uint32_t>(in->Varint());
        break;
      case VarintTag(4):
        region->height = static_cast<uint32_t>(in->Varint());
        break;
      default:
        in->Unknown(tag);
    }
  });
}

void ReadFrame(WireReader* in, WireFrame* frame) {
  in->Message([&](uint32_t tag) {
    switch (tag) {
      case VarintTag(1):
        frame->frame_id = in->Varint();
        break;
      case BytesTag(2):
        frame->has_image = true;
        ReadImage(in, &frame->image);
        break;
      case BytesTag(3):
        frame->has_mask = true;
        ReadImage(in, &frame->mask);
        break;
      case BytesTag(4):
        ReadRegion(in, &frame->region);
        break;
      case VarintTag(5):
        frame->max_age_ns = static_cast<int64_t>(in->Varint());
        break;
      default:
        in->Unknown(tag);
    }
  });
}

// For whoever parses the options: their fields have no message inside them, and one string.
void CheckDetectorOptions(WireReader* in) {
  in->Message([&](uint32_t tag) {
    if (tag == BytesTag(1)) {
      in->String();
    } else {
      in->Unknown(tag);
    }
  });
}

void CheckStreamOptions(WireReader* in) {
  in->Message([&](uint32_t tag) {
    WireImage mask;
    Region region;
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
      default:
        in->Unknown(tag);
    }
  });
}

}  // namespace

bool ParseStreamRequest(decode::Pieces message, WireStreamRequest* request) {
  using Content = WireStreamRequest::Content;
  *request = WireStreamRequest();
  WireReader in(message);
  while (const uint32_t tag = in.NextField()) {
    switch (tag) {
      case BytesTag(1):
        request->content = Content::kOptions;
        CheckStreamOptions(&in);
        break;
      case BytesTag(2):
        if (request->content != Content::kFrame) request->frame = WireFrame();
        request->content = Content::kFrame;
        ReadFrame(&in, &request->frame);
        break;
      default:
        in.Unknown(tag);
    }
  }
  return in.ok();
}

bool ParseImage(decode::Pieces message, WireImage* image) {
  *image = WireImage();
  WireReader in(message);
  while (const uint32_t tag = in.NextField()) ReadImageField(tag, &in, image);
  return in.ok();
}

bool ParseDetectRequest(decode::Pieces message, WireDetectRequest* request) {
  request->options.clear();
  request->has_image = request->has_mask = false;
  request->image = request->mask = WireImage();
  request->region = Region();
  size_t options_bytes = 0;
  WireReader in(message);
  while (const uint32_t tag = in.NextField()) {
    switch (tag) {
      case BytesTag(1): {
        WireReader again = in;
        CheckDetectorOptions(&in);
        if (!in.ok()) break;
        const WireBytes options = again.Bytes();
        if (options_bytes <= kMaxOptionsBytes) AppendPieces(message, options, &request->options);
        options_bytes += options.size;
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
      default:
        in.Unknown(tag);
    }
  }
  return in.ok();
}

}  // namespace glint
