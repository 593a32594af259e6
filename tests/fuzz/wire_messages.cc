#include "tests/fuzz/wire_messages.h"

#include <algorithm>

namespace glint::testing {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

constexpr int kMaxDepth = 6;

// Now and then with more bytes than the value needs.
void AppendVarint(uint64_t value, int max_bytes, Random* random, std::string* out) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>(value | 0x80));
  bytes.push_back(static_cast<char>(value));
  if (random->OneIn(12)) {
    const int longer = random->Uniform(1, max_bytes);
    while (static_cast<int>(bytes.size()) < longer) {
      bytes.back() = static_cast<char>(bytes.back() | 0x80);
      bytes.push_back(random->OneIn(8) ? static_cast<char>(random->Uniform(0, 127)) : '\0');
    }
  }
  *out += bytes;
}

void AppendTag(uint32_t field, uint32_t type, Random* random, std::string* out) {
  AppendVarint(field << 3 | type, 5, random, out);
}

uint64_t RandomNumber(Random* random) {
  switch (random->Uniform(0, 5)) {
    case 0:
      return 0;
    case 1:
      return random->Bits();
    case 2:
      return uint64_t{random->Bits()} << 32 | random->Bits();
    case 3:
      return ~uint64_t{0} - static_cast<uint64_t>(random->Uniform(0, 3));
    default:
      return static_cast<uint64_t>(random->Uniform(0, 300));
  }
}

std::string RandomBytes(Random* random) {
  std::string bytes(static_cast<size_t>(random->OneIn(6) ? random->Uniform(0, 700) : random->Uniform(0, 12)), '\0');
  for (char& byte : bytes) byte = static_cast<char>(random->Bits());
  return bytes;
}

// Mostly UTF-8, with code points around every border.
std::string RandomString(Random* random) {
  static constexpr uint32_t kBorders[] = {0x24, 0x7f, 0x80, 0x7ff, 0x800, 0xd7ff, 0xe000, 0xffff, 0x10000, 0x10ffff};
  static constexpr uint32_t kBad[] = {0xd800, 0xdfff, 0x110000};
  std::string out;
  for (int i = random->Uniform(0, 6); i > 0; --i) {
    uint32_t c = kBorders[random->Uniform(0, 9)];
    if (random->OneIn(25)) c = kBad[random->Uniform(0, 2)];
    if (c < 0x80) {
      out.push_back(static_cast<char>(c));
      continue;
    }
    int tail = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    if (random->OneIn(40)) tail = std::min(3, tail + 1);  // overlong
    static constexpr uint32_t kLead[] = {0, 0xc0, 0xe0, 0xf0};
    out.push_back(static_cast<char>(kLead[tail] | c >> (6 * tail)));
    while (tail-- > 0) out.push_back(static_cast<char>(0x80 | (c >> (6 * tail) & 0x3f)));
  }
  return out;
}

void AppendFields(const Descriptor* type, int depth, Random* random, std::string* out);

void AppendValue(const Descriptor* message, bool text, uint32_t field, uint32_t wire_type, int depth, Random* random,
                 std::string* out) {
  switch (wire_type) {
    case 0:
      AppendVarint(RandomNumber(random), 10, random, out);
      break;
    case 1:
    case 5:
      for (int i = wire_type == 1 ? 8 : 4; i > 0; --i) out->push_back(static_cast<char>(random->Bits()));
      break;
    case 2: {
      std::string body;
      if (message != nullptr || random->OneIn(3)) {
        AppendFields(message, depth + 1, random, &body);
      } else {
        body = text ? RandomString(random) : RandomBytes(random);
      }
      AppendVarint(body.size(), 5, random, out);
      *out += body;
      break;
    }
    case 3:
      AppendFields(message, depth + 1, random, out);
      AppendTag(random->OneIn(30) ? field + 1 : field, 4, random, out);
      break;
    default:
      break;
  }
}

uint32_t WireTypeOf(const FieldDescriptor& field) {
  switch (field.type()) {
    case FieldDescriptor::TYPE_MESSAGE:
    case FieldDescriptor::TYPE_STRING:
    case FieldDescriptor::TYPE_BYTES:
      return 2;
    case FieldDescriptor::TYPE_FLOAT:
    case FieldDescriptor::TYPE_FIXED32:
    case FieldDescriptor::TYPE_SFIXED32:
      return 5;
    case FieldDescriptor::TYPE_DOUBLE:
    case FieldDescriptor::TYPE_FIXED64:
    case FieldDescriptor::TYPE_SFIXED64:
      return 1;
    default:
      return 0;
  }
}

// `type` may be null: then no field is known.
void AppendFields(const Descriptor* type, int depth, Random* random, std::string* out) {
  if (depth > kMaxDepth) return;
  for (int i = random->Uniform(0, depth == 0 ? 4 : 6); i > 0; --i) {
    const bool known = type != nullptr && type->field_count() > 0 && !random->OneIn(8);
    uint32_t number =
        static_cast<uint32_t>(random->OneIn(4) ? random->Uniform(1, (1 << 29) - 1) : random->Uniform(1, 40));
    uint32_t wire_type = static_cast<uint32_t>(random->Uniform(0, 5));
    const Descriptor* message = nullptr;
    bool text = false;
    if (known) {
      const FieldDescriptor& field = *type->field(random->Uniform(0, type->field_count() - 1));
      number = static_cast<uint32_t>(field.number());
      if (!random->OneIn(12)) {
        wire_type = WireTypeOf(field);
        message = field.message_type();
        text = field.type() == FieldDescriptor::TYPE_STRING;
      }
    }
    if (wire_type == 4 && !random->OneIn(20)) wire_type = 3;  // a group's end without its beginning
    AppendTag(number, wire_type, random, out);
    AppendValue(message, text, number, wire_type, depth, random, out);
  }
}

}  // namespace

std::string RandomMessage(const Descriptor& type, Random* random) {
  std::string out;
  AppendFields(&type, 0, random, &out);
  return out;
}

void Damage(std::string* message, Random* random) {
  for (int i = random->Uniform(1, 3); i > 0; --i) {
    const auto at = [&] { return static_cast<size_t>(random->Uniform(0, static_cast<int>(message->size()))); };
    switch (random->Uniform(0, 5)) {
      case 0:
        if (!message->empty()) (*message)[at() % message->size()] = static_cast<char>(random->Bits());
        break;
      case 1:
        if (!message->empty()) (*message)[at() % message->size()] ^= static_cast<char>(1 << random->Uniform(0, 7));
        break;
      case 2:
        message->insert(at(), 1, static_cast<char>(random->OneIn(2) ? 0xff : random->Bits()));
        break;
      case 3:
        message->erase(at(), static_cast<size_t>(random->Uniform(1, 4)));
        break;
      case 4:
        message->resize(at());
        break;
      default: {
        const std::string part = message->substr(at(), static_cast<size_t>(random->Uniform(1, 20)));
        message->insert(at(), part);
      }
    }
  }
}

std::string Nested(int levels, absl::Span<const uint32_t> fields) {
  std::string out;
  constexpr uint32_t kUnknownField = 15;
  out.append(static_cast<size_t>(levels), static_cast<char>(kUnknownField << 3 | 3));
  out.append(static_cast<size_t>(levels), static_cast<char>(kUnknownField << 3 | 4));
  for (auto field = fields.rbegin(); field != fields.rend(); ++field) {
    std::string around;
    around.push_back(static_cast<char>(*field << 3 | 2));
    for (size_t size = out.size();; size >>= 7) {
      around.push_back(static_cast<char>(size >= 0x80 ? (size & 0x7f) | 0x80 : size));
      if (size < 0x80) break;
    }
    out = around + out;
  }
  return out;
}

}  // namespace glint::testing
