#include "bag/mcap_part.h"

#include "absl/strings/str_cat.h"
#include "bag/bag.h"
#include "bag/compression.h"
#include "features/error.h"
#include "features/status_macros.h"

namespace glint::bag::mcap {
namespace {

// Of records that do not compress: their header, and what a compression adds.
constexpr uint64_t kLargestStored = Bag::kLargestChunk + (uint64_t{1} << 22);

absl::Status Damaged(absl::string_view problem) { return absl::InvalidArgumentError(problem); }

absl::Status Decompress(const ChunkHeader& header, Bytes stored, std::vector<uint8_t>* records) {
  const auto size = static_cast<size_t>(header.uncompressed_size);
  if (header.compression == "lz4") return DecompressLz4Frame(stored, size, records);
  if (header.compression != "zstd") {
    records->clear();
    return Damaged(absl::StrCat("compression \"", Echo(header.compression), "\" is not known"));
  }
  GLINT_RETURN_IF_ERROR(DecompressZstd(stored, size, records));
  if (records->size() != size)
    return Damaged(absl::StrCat("zstd: ", records->size(), " bytes where ", size, " are said to be"));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Bytes> PartBuffer::Load(const File& file, const Part& part) {
  if (part.bytes > kLargestStored) return Damaged(absl::StrCat(part.bytes, " bytes are too many"));
  stored_.resize(static_cast<size_t>(part.bytes));
  const absl::Status read = file.Read(static_cast<int64_t>(part.offset), absl::MakeSpan(stored_));
  if (absl::IsOutOfRange(read)) return Damaged("the file ends in it");
  GLINT_RETURN_IF_ERROR(read);
  if (part.kind == Part::Kind::kRecords) return Bytes(stored_);

  if (stored_.size() < kRecordHeader || stored_[0] != kChunk) return Damaged("no chunk is there");
  const Bytes content = Bytes(stored_).subspan(kRecordHeader);
  const std::optional<ChunkHeader> header = ReadChunkHeader(content);
  if (!header.has_value()) return Damaged("cut off");
  const Bytes rest = content.subspan(header->bytes);
  const bool cut = part.kind == Part::Kind::kCutChunk;
  if (header->stored_size > rest.size() && !cut) return Damaged("it is said to be longer than its record");
  if (header->uncompressed_size > uint64_t{Bag::kLargestChunk}) {
    return Damaged(absl::StrCat(header->uncompressed_size, " bytes decompressed are more than ", Bag::kLargestChunk));
  }
  Bytes records = rest.subspan(0, header->stored_size);
  if (header->compression.empty()) {
    if (records.size() != header->uncompressed_size && !cut) return Damaged("it has two sizes");
  } else if (header->uncompressed_size == 0) {
    records = {};
  } else {
    const absl::Status status = Decompress(*header, records, &records_);
    if (!status.ok() && !cut) return status;
    records = records_;
  }
  if (header->crc != 0 && !cut && Crc32(records) != header->crc) return Damaged("wrong checksum");
  return records;
}

}  // namespace glint::bag::mcap
