#include "bag/ros1_records.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "features/status_macros.h"

namespace glint::bag {
namespace {

constexpr uint32_t kLongestHeader = 1 << 16;
constexpr size_t kMostFields = 64;
constexpr size_t kFirstRead = 256;  // most headers and the size of the data behind them

bool TakeSized(absl::Span<const uint8_t>* bytes, absl::Span<const uint8_t>* taken) {
  if (bytes->size() < 4) return false;
  const uint32_t size = LittleEndian32(bytes->data());
  if (size > bytes->size() - 4) return false;
  *taken = bytes->subspan(4, size);
  bytes->remove_prefix(4 + size_t{size});
  return true;
}

}  // namespace

bool Ros1Fields::Parse(absl::Span<const uint8_t> bytes) {
  fields_.clear();
  while (!bytes.empty()) {
    absl::Span<const uint8_t> field;
    if (fields_.size() == kMostFields || !TakeSized(&bytes, &field)) return false;
    const absl::string_view text(reinterpret_cast<const char*>(field.data()), field.size());
    const size_t equals = text.find('=');
    if (equals == absl::string_view::npos) return false;
    fields_.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return true;
}

absl::string_view Ros1Fields::Text(absl::string_view name) const {
  for (const auto& field : fields_) {
    if (field.first == name) return field.second;
  }
  return {};
}

bool TakeRos1Record(absl::Span<const uint8_t>* bytes, Ros1Record* record) {
  absl::Span<const uint8_t> header;
  return TakeSized(bytes, &header) && record->header.Parse(header) && TakeSized(bytes, &record->data);
}

absl::Status ReadRos1Record(const File& file, int64_t offset, Ros1FileRecord* record) {
  const auto bytes = [&] { return reinterpret_cast<uint8_t*>(record->bytes.data()); };
  const auto damaged = [&] { return absl::InvalidArgumentError(absl::StrCat("no record at byte ", offset)); };
  record->bytes = file.ReadText(offset, kFirstRead);
  if (record->bytes.size() < 4) return absl::OutOfRangeError("the file ends");
  const uint32_t size = LittleEndian32(bytes());
  if (size > kLongestHeader) return damaged();
  const size_t all = 4 + size_t{size} + 4, there = record->bytes.size();
  if (there < all) {
    record->bytes.resize(all);
    const auto rest = absl::MakeSpan(bytes() + there, all - there);
    GLINT_RETURN_IF_ERROR(file.Read(offset + static_cast<int64_t>(there), rest));
  }
  if (!record->header.Parse(absl::MakeConstSpan(bytes() + 4, size))) return damaged();
  record->data_offset = offset + static_cast<int64_t>(all);
  record->data_size = LittleEndian32(bytes() + 4 + size);
  return absl::OkStatus();
}

}  // namespace glint::bag
