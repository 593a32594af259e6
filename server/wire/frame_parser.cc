#include "server/wire/frame_parser.h"

#include <cstring>

namespace glint {
namespace {

// Selects a oneof's content: resets it unless it is the current one, whose fields are merged with.
void SwitchTo(WireImage::Content content, WireImage* image) {
  if (image->content == content) return;
  *image = WireImage();
  image->content = content;
}

// Fields that RawImage and SharedImage share.
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

// A message without strings and messages, as RectifyOptions.
void CheckPlain(WireReader* in) {
  in->Message([in](uint32_t field) { in->Unknown(field); });
}

}  // namespace

void ReadImage(WireReader* in, WireImage* image) {
  in->Message([&](uint32_t tag) {
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
  });
}

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

void CheckDetectorOptions(WireReader* in) {
  in->Message([&](uint32_t tag) {
    if (tag == BytesTag(1)) {
      in->String();
    } else {
      in->Unknown(tag);
    }
  });
}

void ReadGrayRange(WireReader* in, WireGrayRange* range) {
  range->wanted = true;
  in->Message([&](uint32_t tag) {
    switch (tag) {
      case VarintTag(1):
        range->lowest = static_cast<int32_t>(in->Varint());
        break;
      case VarintTag(2):
        range->highest = static_cast<int32_t>(in->Varint());
        break;
      case WireTag(3, WireType::kFixed32): {
        const uint32_t bits = in->Fixed32();
        range->has_percentile = true;
        std::memcpy(&range->percentile, &bits, sizeof(bits));
        break;
      }
      case VarintTag(4):
        range->has_images = true;
        range->images = static_cast<int32_t>(in->Varint());
        break;
      case VarintTag(5):
        range->equalize = in->Varint() != 0;
        break;
      default:
        in->Unknown(tag);
    }
  });
}

void CheckCamera(WireReader* in) {
  in->Message([in](uint32_t field) {
    if (field < BytesTag(7) || field > BytesTag(14) || (field & 7) != static_cast<uint32_t>(WireType::kBytes)) {
      return in->Unknown(field);
    }
    in->Message([in](uint32_t coefficient) { in->Unknown(coefficient); });  // the lens
  });
}

void CheckTransform(WireReader* in) {
  in->Message([in](uint32_t field) {
    if (field == BytesTag(1)) return in->Packed([in] { in->Fixed64(); });  // rotation
    in->Unknown(field);
  });
}

void CheckStereoRig(WireReader* in) {
  in->Message([in](uint32_t tag) {
    switch (tag) {
      case BytesTag(1):
      case BytesTag(2):
        return CheckCamera(in);
      case BytesTag(3):
        return CheckTransform(in);
      case BytesTag(4):
        return CheckPlain(in);  // rectify
      case BytesTag(5):
        in->String();
        return;
      default:
        in->Unknown(tag);
    }
  });
}

void CheckRgbdCamera(WireReader* in) {
  in->Message([in](uint32_t tag) {
    switch (tag) {
      case BytesTag(1):
      case BytesTag(2):
        return CheckCamera(in);
      case BytesTag(3):
        return CheckTransform(in);
      case BytesTag(5):
        return CheckPlain(in);  // rectify
      case BytesTag(6):
        in->String();
        return;
      default:
        in->Unknown(tag);
    }
  });
}

void CheckImage(WireReader* in) {
  WireImage image;
  ReadImage(in, &image);
}

void CheckRegion(WireReader* in) { CheckPlain(in); }

void CheckOperationOptions(WireReader* in, uint32_t gray_range, absl::FunctionRef<bool(uint32_t tag)> more) {
  in->Message([=](uint32_t tag) {
    if (tag == BytesTag(1)) return CheckDetectorOptions(in);
    if (tag == BytesTag(2) || tag == BytesTag(gray_range)) return CheckPlain(in);
    if (!more(tag)) in->Unknown(tag);
  });
}

bool ReadImagePair(WireReader* in, uint32_t tag, WireEnvelope* envelope, WireImagePair* pair) {
  switch (tag) {
    case VarintTag(1):
      envelope->frame_id = in->Varint();
      return true;
    case VarintTag(2):
      envelope->max_age_ns = static_cast<int64_t>(in->Varint());
      return true;
    case BytesTag(3):
      pair->has_left = true;
      ReadImage(in, &pair->left);
      return true;
    case BytesTag(4):
      pair->has_right = true;
      ReadImage(in, &pair->right);
      return true;
    case BytesTag(7):
      pair->has_mask = true;
      ReadImage(in, &pair->mask);
      return true;
    case BytesTag(8):
      pair->has_right_mask = true;
      ReadImage(in, &pair->right_mask);
      return true;
    default:
      return false;
  }
}

}  // namespace glint
