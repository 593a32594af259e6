#include "server/operations/localize/localize_parser.h"

#include <cstring>

namespace glint {
namespace {

// The members of a LocalizeStreamRequest's oneof.
constexpr uint32_t kOptions = BytesTag(1), kPair = BytesTag(2), kRelocalize = BytesTag(3), kGetMap = BytesTag(4),
                   kAddImu = BytesTag(7);

bool IsMember(uint32_t tag) {
  return tag >= kOptions && tag <= kAddImu && (tag & 7) == static_cast<uint32_t>(WireType::kBytes);
}

// Reads a glint.v1.ImuReadings. Adds to `*sizes`, and to `*values` as far as there is room; null: only counts.
void ReadImu(WireReader* in, WireImuReadings* sizes, ImuValues* values) {
  const auto add = [](auto value, size_t most, size_t* count, auto* array) {
    ++*count;
    if (array != nullptr && array->size() < most) array->push_back(value);
  };
  const auto times = [&](uint32_t tag, size_t* count, std::vector<int64_t>* array) {
    in->Repeated(tag, [&] { add(static_cast<int64_t>(in->Varint()), kMaxImuReadings, count, array); });
  };
  const auto vectors = [&](uint32_t tag, size_t* count, std::vector<double>* array) {
    in->Repeated(tag, [&] {
      const uint64_t bits = in->Fixed64();
      double value;
      std::memcpy(&value, &bits, sizeof(value));
      add(value, 3 * kMaxImuReadings, count, array);
    });
  };
  in->Message([&](uint32_t tag) {
    switch (tag) {
      case BytesTag(1):
      case VarintTag(1):
        return times(tag, &sizes->gyroscope_times, values == nullptr ? nullptr : &values->gyroscope_time_ns);
      case BytesTag(2):
      case WireTag(2, WireType::kFixed64):
        return vectors(tag, &sizes->angular_velocities, values == nullptr ? nullptr : &values->angular_velocity);
      case BytesTag(3):
      case VarintTag(3):
        return times(tag, &sizes->accelerometer_times, values == nullptr ? nullptr : &values->accelerometer_time_ns);
      case BytesTag(4):
      case WireTag(4, WireType::kFixed64):
        return vectors(tag, &sizes->accelerations, values == nullptr ? nullptr : &values->acceleration);
      default:
        in->Unknown(tag);
    }
  });
}

void ReadLocalizePair(WireReader* in, WireLocalizeStreamRequest* request, ImuValues* values) {
  in->Message([&](uint32_t tag) {
    if (tag == VarintTag(5)) {
      request->time_ns = static_cast<int64_t>(in->Varint());
    } else if (tag == BytesTag(6)) {
      request->has_depth = true;
      ReadImage(in, &request->depth);
    } else if (tag == BytesTag(9)) {
      request->has_imu = true;
      ReadImu(in, &request->imu, values);
    } else if (!ReadImagePair(in, tag, request, &request->pair)) {
      in->Unknown(tag);
    }
  });
}

// Options and requests about maps are small, and protobuf's: here it matters whether it will take them.
void CheckStereoCamera(WireReader* in) {
  in->Message([in](uint32_t tag) {
    if (tag == BytesTag(7) || tag == BytesTag(8)) return in->Packed([in] { in->Fixed64(); });
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
      case BytesTag(15):  // imu
        return in->Message([in](uint32_t field) { field == BytesTag(1) ? CheckTransform(in) : in->Unknown(field); });
      default:
        in->Unknown(tag);
    }
  });
}

void ReadAddImu(WireReader* in, WireLocalizeStreamRequest* request, ImuValues* values) {
  request->has_imu = true;
  in->Message([&](uint32_t tag) {
    if (tag == VarintTag(1)) {
      request->frame_id = in->Varint();
    } else if (tag == BytesTag(2)) {
      ReadImu(in, &request->imu, values);
    } else if (tag == VarintTag(3)) {
      request->wants_poses = in->Varint() != 0;
    } else {
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

void ImuValues::Clear() {
  gyroscope_time_ns.clear();
  accelerometer_time_ns.clear();
  angular_velocity.clear();
  acceleration.clear();
}

bool ParseLocalizeStreamRequest(decode::Pieces message, WireLocalizeStreamRequest* request, ImuValues* values) {
  const auto clear = [=] {
    *request = WireLocalizeStreamRequest();
    if (values != nullptr) values->Clear();
  };
  clear();
  WireReader in(message);
  uint32_t member = 0;
  while (const uint32_t tag = in.NextField()) {
    if (!IsMember(tag)) {
      in.Unknown(tag);
      continue;
    }
    if (member != tag) clear();
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
        ReadLocalizePair(&in, request, values);
        break;
      case kAddImu:
        request->content = WireContent::kEdit;
        ReadAddImu(&in, request, values);
        break;
      default:
        request->content = WireContent::kEdit;
        ReadMapRequest(tag, &in, request);
    }
  }
  return in.ok();
}

}  // namespace glint
