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

// Goes through a request once. Where there is memory for arrays (`set`, `conditions`, `change` are not null) it is
// filled; sizes are counted either way.
class Walker {
 public:
  explicit Walker(decode::Pieces message) : message_(message), in_(message) {}

  WireReader* in() { return &in_; }

  void Floats(uint32_t tag, size_t* count, std::vector<float>* out) {
    if ((tag & 7) == static_cast<uint32_t>(WireType::kFixed32)) {
      const uint32_t bits = in_.Fixed32();
      ++*count;
      if (out == nullptr) return;
      float value;
      std::memcpy(&value, &bits, sizeof(value));
      out->push_back(value);
      return;
    }
    const WireBytes bytes = in_.Bytes();
    if (bytes.size % sizeof(float) != 0) return in_.Fail();
    *count += bytes.size / sizeof(float);
    if (out == nullptr) return;
    const size_t first = out->size();
    out->resize(first + bytes.size / sizeof(float));
    Copy(message_, bytes, out->data() + first);
  }

  template <typename T>
  void Integers(uint32_t tag, size_t* count, std::vector<T>* out) {
    const auto one = [&] {
      const T value = static_cast<T>(in_.Varint());
      ++*count;
      if (out != nullptr) out->push_back(value);
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
          if (set == nullptr) break;
          set->rows.resize(bytes.size);
          Copy(message_, bytes, set->rows.data());
          break;
        }
        case VarintTag(2):
          sizes->bytes = static_cast<uint32_t>(in_.Varint());
          if (set != nullptr) set->bytes = static_cast<int>(sizes->bytes);
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
      if (side->content != Content::kNone && side->content != content) in_.Fail();
      side->content = content;
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

  // Where the arrays of a match go; all null in the first step.
  struct Arrays {
    DescriptorSet *query = nullptr, *train = nullptr;
    ConditionArrays* conditions = nullptr;
  };

  // Fields 3 to 5 of a MatchPair or a MatchRequest. False: it is none of these.
  bool MatchField(uint32_t tag, WireMatch* match, const Arrays& arrays) {
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

  void Pair(WireMatchStreamRequest* request, const Arrays& arrays) {
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

  void Edit(WireMatchStreamRequest* request, SetChange* change) {
    WireEdit& edit = request->edit;
    in_.Message([&](uint32_t tag) {
      switch (tag) {
        case VarintTag(1):
          request->frame_id = in_.Varint();
          break;
        case BytesTag(2): {
          const WireBytes name = in_.String();
          if (change != nullptr) change->set = NameFromWire(message_, name);
          break;
        }
        case BytesTag(3):
        case VarintTag(3):
          Integers(tag, &edit.remove, change == nullptr ? nullptr : &change->remove);
          break;
        case BytesTag(4):
          if (change != nullptr) change->adds = true;
          Set(&edit.add, change == nullptr ? nullptr : &change->add);
          break;
        case VarintTag(5): {
          const bool forget = in_.Varint() != 0;
          if (change != nullptr) change->forget = forget;
          break;
        }
        default:
          in_.Unknown(tag);
      }
    });
  }

  void StreamRequest(WireMatchStreamRequest* request, const Arrays& arrays, SetChange* change) {
    while (const uint32_t tag = in_.NextField()) {
      switch (tag) {
        case BytesTag(1):
          SetContent(WireContent::kOptions, &in_, request);
          in_.Unknown(tag);
          break;
        case BytesTag(2):
          SetContent(WireContent::kFrame, &in_, request);
          Pair(request, arrays);
          break;
        case BytesTag(3):
          SetContent(WireContent::kEdit, &in_, request);
          Edit(request, change);
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

void ClearArrays(DescriptorSet* query, DescriptorSet* train, ConditionArrays* conditions) {
  query->Clear();
  train->Clear();
  conditions->Clear();
}

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
  Walker walker(message);
  while (const uint32_t tag = walker.in()->NextField()) {
    if (tag == BytesTag(1) || tag == BytesTag(2)) {
      std::string* const to = tag == BytesTag(1) ? &request->detector : &request->options;
      WireBytes options = walker.in()->Bytes();
      options.size = std::min(options.size, kMaxOptionsBytes + 1 - to->size());
      to->resize(to->size() + options.size);
      Copy(message, options, to->data() + to->size() - options.size);
    } else if (!walker.MatchField(tag, &request->match, {})) {
      walker.in()->Unknown(tag);
    }
  }
  return walker.in()->ok();
}

void UnpackPair(decode::Pieces stream_request, DescriptorSet* query, DescriptorSet* train,
                ConditionArrays* conditions) {
  ClearArrays(query, train, conditions);
  WireMatchStreamRequest request;
  Walker(stream_request).StreamRequest(&request, {query, train, conditions}, nullptr);
}

void UnpackRequest(decode::Pieces request, DescriptorSet* query, DescriptorSet* train, ConditionArrays* conditions) {
  ClearArrays(query, train, conditions);
  WireMatch match;
  Walker walker(request);
  while (const uint32_t tag = walker.in()->NextField()) {
    if (!walker.MatchField(tag, &match, {query, train, conditions})) walker.in()->Unknown(tag);
  }
}

void UnpackEdit(decode::Pieces stream_request, SetChange* change) {
  *change = SetChange();
  WireMatchStreamRequest request;
  Walker(stream_request).StreamRequest(&request, {}, change);
}

std::string NameFromWire(decode::Pieces message, const WireBytes& name) {
  WireBytes part = name;
  part.size = std::min(name.size, kMaxSetName + 1);
  std::string text(part.size, '\0');
  Copy(message, part, text.data());
  return text;
}

}  // namespace glint
