#include "server/operations/match/match_parser.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace glint {
namespace {

constexpr uint32_t FloatTag(uint32_t field) { return WireTag(field, WireType::kFixed32); }

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "floats are copied as they are");

void Copy(decode::Pieces message, const WireBytes& from, void* to) {
  if (from.size == 0) return;
  decode::PieceReader reader(message.subspan(from.piece));
  reader.Skip(from.begin);
  reader.Read(from.size, static_cast<uint8_t*>(to));
}

void Reserve(const SetSizes& sizes, DescriptorSet* set) {
  set->rows.reserve(sizes.rows);
  set->x.reserve(sizes.x);
  set->y.reserve(sizes.y);
  set->octave.reserve(sizes.octave);
  set->angle.reserve(sizes.angle);
}

// Destinations of the arrays of a match; all null in the first step.
struct MatchArrays {
  DescriptorSet *query = nullptr, *train = nullptr;
  ConditionArrays* conditions = nullptr;

  void Clear() const {
    if (conditions == nullptr) return;
    query->Clear();
    train->Clear();
    conditions->Clear();
  }
  void Reserve(const WireMatch& match) const {
    glint::Reserve(match.query.sizes, query);
    glint::Reserve(match.train.sizes, train);
    const WireConditions& sizes = match.conditions;
    conditions->x.reserve(sizes.x);
    conditions->y.reserve(sizes.y);
    conditions->radius.reserve(sizes.radius);
    conditions->min_octave.reserve(sizes.min_octave);
    conditions->max_octave.reserve(sizes.max_octave);
  }
};

// Capacity of `out`, which may be null, in elements.
template <typename T>
size_t Room(const std::vector<T>* out) {
  return out == nullptr ? 0 : out->capacity() - out->size();
}

// One pass over a request. Fills the destinations that are not null (`set`, `conditions`, `update`) without growing
// them: content beyond their capacity belongs to a oneof, or to bytes, that later ones in the message replace. Sizes
// are counted either way. A oneof's content is reset unless it is the current one, which is merged with.
class Walker {
 public:
  explicit Walker(decode::Pieces message) : message_(message), in_(message) {}

  WireReader* in() { return &in_; }

  void Floats(uint32_t tag, size_t* count, std::vector<float>* out) {
    if ((tag & 7) == static_cast<uint32_t>(WireType::kFixed32)) {
      const uint32_t bits = in_.Fixed32();
      ++*count;
      if (Room(out) == 0) return;
      float value;
      std::memcpy(&value, &bits, sizeof(value));
      out->push_back(value);
      return;
    }
    WireBytes bytes = in_.Bytes();
    if (bytes.size % sizeof(float) != 0) return in_.Fail();
    *count += bytes.size / sizeof(float);
    const size_t taken = std::min(bytes.size / sizeof(float), Room(out));
    if (taken == 0) return;
    bytes.size = taken * sizeof(float);
    out->resize(out->size() + taken);
    Copy(message_, bytes, out->data() + out->size() - taken);
  }

  template <typename T>
  void Integers(uint32_t tag, size_t* count, std::vector<T>* out) {
    const auto one = [&] {
      const T value = static_cast<T>(in_.Varint());
      ++*count;
      if (Room(out) > 0) out->push_back(value);
    };
    if ((tag & 7) == static_cast<uint32_t>(WireType::kVarint)) return one();
    in_.Packed(one);
  }

  void Set(SetSizes* sizes, DescriptorSet* set) {
    in_.Message([&](uint32_t tag) {
      switch (tag) {
        case BytesTag(1): {
          const WireBytes bytes = in_.Bytes();
          sizes->rows = bytes.size;
          if (set == nullptr || bytes.size > set->rows.capacity()) break;
          set->rows.resize(bytes.size);
          Copy(message_, bytes, set->rows.data());
          break;
        }
        case VarintTag(2):
          sizes->bytes = static_cast<int32_t>(in_.Varint());
          if (set != nullptr) set->bytes = sizes->bytes;
          break;
        case BytesTag(3):
        case FloatTag(3):
          Floats(tag, &sizes->x, set == nullptr ? nullptr : &set->x);
          break;
        case BytesTag(4):
        case FloatTag(4):
          Floats(tag, &sizes->y, set == nullptr ? nullptr : &set->y);
          break;
        case BytesTag(5):
        case VarintTag(5):
          Integers(tag, &sizes->octave, set == nullptr ? nullptr : &set->octave);
          break;
        case BytesTag(6):
        case FloatTag(6):
          Floats(tag, &sizes->angle, set == nullptr ? nullptr : &set->angle);
          break;
        default:
          in_.Unknown(tag);
      }
    });
  }

  void Side(WireMatchSide* side, DescriptorSet* set) {
    using Content = WireMatchSide::Content;
    const auto is = [&](Content content) {
      if (side->content == content) return;
      *side = WireMatchSide();
      side->content = content;
      if (set != nullptr) set->Clear();
    };
    in_.Message([&](uint32_t tag) {
      switch (tag) {
        case BytesTag(1):
          is(Content::kImage);
          ReadImage(&in_, &side->image);
          break;
        case BytesTag(2):
          is(Content::kDescriptors);
          Set(&side->sizes, set);
          break;
        case BytesTag(3):
          is(Content::kSet);
          side->set = in_.String();
          break;
        default:
          in_.Unknown(tag);
      }
    });
  }

  void Conditions(WireConditions* sizes, ConditionArrays* arrays) {
    in_.Message([&](uint32_t tag) {
      switch (tag) {
        case BytesTag(1):
        case FloatTag(1):
          Floats(tag, &sizes->x, arrays == nullptr ? nullptr : &arrays->x);
          break;
        case BytesTag(2):
        case FloatTag(2):
          Floats(tag, &sizes->y, arrays == nullptr ? nullptr : &arrays->y);
          break;
        case BytesTag(3):
        case FloatTag(3):
          Floats(tag, &sizes->radius, arrays == nullptr ? nullptr : &arrays->radius);
          break;
        case BytesTag(4):
        case VarintTag(4):
          Integers(tag, &sizes->min_octave, arrays == nullptr ? nullptr : &arrays->min_octave);
          break;
        case BytesTag(5):
        case VarintTag(5):
          Integers(tag, &sizes->max_octave, arrays == nullptr ? nullptr : &arrays->max_octave);
          break;
        default:
          in_.Unknown(tag);
      }
    });
  }

  // Reads fields 3 to 5 of a MatchPair or a MatchRequest. False: `tag` is none of these.
  bool MatchField(uint32_t tag, WireMatch* match, const MatchArrays& arrays) {
    switch (tag) {
      case BytesTag(3):
        Side(&match->query, arrays.query);
        return true;
      case BytesTag(4):
        Side(&match->train, arrays.train);
        return true;
      case BytesTag(5):
        Conditions(&match->conditions, arrays.conditions);
        return true;
      default:
        return false;
    }
  }

  void Pair(WireMatchStreamRequest* request, const MatchArrays& arrays) {
    in_.Message([&](uint32_t tag) {
      if (tag == VarintTag(1)) {
        request->frame_id = in_.Varint();
      } else if (tag == VarintTag(2)) {
        request->max_age_ns = static_cast<int64_t>(in_.Varint());
      } else if (!MatchField(tag, &request->match, arrays)) {
        in_.Unknown(tag);
      }
    });
  }

  void Update(WireMatchStreamRequest* request, SetUpdate* update) {
    in_.Message([&](uint32_t tag) {
      switch (tag) {
        case BytesTag(3):
        case VarintTag(3):
          Integers(tag, &request->update.remove, update == nullptr ? nullptr : &update->remove);
          break;
        case BytesTag(4):
          if (update != nullptr) update->adds = true;
          Set(&request->update.add, update == nullptr ? nullptr : &update->add);
          break;
        default:
          EditField(tag, request);
      }
    });
  }

  // Fields that an UpdateSet and a ForgetSet share.
  void EditField(uint32_t tag, WireMatchStreamRequest* request) {
    switch (tag) {
      case VarintTag(1):
        request->frame_id = in_.Varint();
        break;
      case BytesTag(2):
        request->set = in_.String();
        break;
      default:
        in_.Unknown(tag);
    }
  }

  // Checks fields 1 and 2 of a MatchRequest or of MatchStreamOptions. False: `tag` is none of these.
  bool OptionsField(uint32_t tag) {
    switch (tag) {
      case BytesTag(1):
        CheckDetectorOptions(&in_);
        return true;
      case BytesTag(2):
        in_.Message([this](uint32_t field) { in_.Unknown(field); });  // no string in it
        return true;
      default:
        return false;
    }
  }

  void CheckStreamOptions() {
    in_.Message([this](uint32_t tag) {
      WireGrayRange range;
      if (OptionsField(tag)) return;
      if (tag == BytesTag(7)) return ReadGrayRange(&in_, &range);
      if (tag == BytesTag(8) || tag == BytesTag(9)) return CheckCamera(&in_);
      in_.Unknown(tag);
    });
  }

  void StreamRequest(WireMatchStreamRequest* request, const MatchArrays& arrays, SetUpdate* update) {
    const auto is = [&](WireContent content, bool forgets = false) {
      if (request->content == content && request->forgets == forgets) return;
      *request = WireMatchStreamRequest();
      request->content = content;
      request->forgets = forgets;
      arrays.Clear();
      if (update != nullptr) update->Clear();
    };
    while (const uint32_t tag = in_.NextField()) {
      switch (tag) {
        case BytesTag(1):
          is(WireContent::kOptions);
          CheckStreamOptions();
          break;
        case BytesTag(2):
          is(WireContent::kFrame);
          Pair(request, arrays);
          break;
        case BytesTag(3):
          is(WireContent::kEdit);
          Update(request, update);
          break;
        case BytesTag(4):
          is(WireContent::kEdit, true);
          in_.Message([&](uint32_t field) { EditField(field, request); });
          break;
        default:
          in_.Unknown(tag);
      }
    }
  }

 private:
  const decode::Pieces message_;
  WireReader in_;
};

}  // namespace

bool ParseMatchStreamRequest(decode::Pieces message, WireMatchStreamRequest* request) {
  *request = WireMatchStreamRequest();
  Walker walker(message);
  walker.StreamRequest(request, {}, nullptr);
  return walker.in()->ok();
}

bool ParseMatchRequest(decode::Pieces message, WireMatchRequest* request) {
  request->detector.clear();
  request->options.clear();
  request->match = WireMatch();
  request->gray_range = WireGrayRange();
  request->has_query_camera = request->has_train_camera = false;
  request->query_camera.clear();
  request->train_camera.clear();
  Walker walker(message);
  while (const uint32_t tag = walker.in()->NextField()) {
    WireReader before = *walker.in();
    if (walker.OptionsField(tag)) {
      AppendText(message, before.Bytes(), kMaxOptionsBytes + 1,
                 tag == BytesTag(1) ? &request->detector : &request->options);
    } else if (tag == BytesTag(7) || tag == BytesTag(8)) {
      const bool of_query = tag == BytesTag(7);
      CheckCamera(walker.in());
      (of_query ? request->has_query_camera : request->has_train_camera) = true;
      AppendText(message, before.Bytes(), kMaxCameraBytes + 1,
                 of_query ? &request->query_camera : &request->train_camera);
    } else if (tag == BytesTag(6)) {
      ReadGrayRange(walker.in(), &request->gray_range);
    } else if (!walker.MatchField(tag, &request->match, {})) {
      walker.in()->Unknown(tag);
    }
  }
  return walker.in()->ok();
}

void UnpackPair(decode::Pieces stream_request, const WireMatch& match, DescriptorSet* query, DescriptorSet* train,
                ConditionArrays* conditions) {
  const MatchArrays arrays = {query, train, conditions};
  arrays.Clear();
  arrays.Reserve(match);
  WireMatchStreamRequest request;
  Walker(stream_request).StreamRequest(&request, arrays, nullptr);
}

void UnpackRequest(decode::Pieces request, const WireMatch& match, DescriptorSet* query, DescriptorSet* train,
                   ConditionArrays* conditions) {
  const MatchArrays arrays = {query, train, conditions};
  arrays.Clear();
  arrays.Reserve(match);
  WireMatch again;
  Walker walker(request);
  while (const uint32_t tag = walker.in()->NextField()) {
    if (!walker.MatchField(tag, &again, arrays)) walker.in()->Unknown(tag);
  }
}

void UnpackUpdate(decode::Pieces stream_request, const WireSetUpdate& sizes, SetUpdate* update) {
  update->Clear();
  update->remove.reserve(sizes.remove);
  Reserve(sizes.add, &update->add);
  WireMatchStreamRequest request;
  Walker(stream_request).StreamRequest(&request, {}, update);
}

std::string NameFromWire(decode::Pieces message, const WireBytes& name) {
  std::string text;
  AppendText(message, name, kMaxSetName + 1, &text);
  return text;
}

}  // namespace glint
