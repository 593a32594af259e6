// LZ4, Zstandard and bzip2 of recordings, blocks that are whole in memory. Thread-safe.
#ifndef GLINT_BAG_COMPRESSION_H_
#define GLINT_BAG_COMPRESSION_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace glint::bag {

inline constexpr absl::string_view kZstdMagic = "\x28\xb5\x2f\xfd";  // that frames begin with

// The first three replace `out` by what `data` holds, one or more frames or streams in a row. `out` grows with what is
// decompressed, whatever sizes are said. INVALID_ARGUMENT: damaged, cut off, or of another size; `out` then has what
// came before the damage.

// LZ4's frame format. `expected_size`: decompressed bytes, exactly.
absl::Status DecompressLz4Frame(absl::Span<const uint8_t> data, size_t expected_size, std::vector<uint8_t>* out);
// `most`: decompressed bytes; more are an error.
absl::Status DecompressZstd(absl::Span<const uint8_t> data, size_t most, std::vector<uint8_t>* out);
// `expected_size`: decompressed bytes, exactly.
absl::Status DecompressBzip2(absl::Span<const uint8_t> data, size_t expected_size, std::vector<uint8_t>* out);

// One frame with its size. `out` is replaced. INTERNAL: out of memory.
absl::Status CompressZstd(absl::Span<const uint8_t> data, std::vector<uint8_t>* out);

}  // namespace glint::bag

#endif  // GLINT_BAG_COMPRESSION_H_
