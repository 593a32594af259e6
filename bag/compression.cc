#include "bag/compression.h"

#include <bzlib.h>
#include <lz4frame.h>
#include <zstd.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "absl/strings/str_cat.h"

namespace glint::bag {
namespace {

using Bytes = absl::Span<const uint8_t>;

constexpr size_t kFirstBytes = 1 << 16;
// Zstandard's decoder allocates a frame's window, whose size the frame says: 2^this at most, as for blocks of `zstd`.
constexpr int kZstdWindowLog = 27;

absl::Status Damaged(absl::string_view what, absl::string_view problem) {
  return absl::InvalidArgumentError(absl::StrCat(what, ": ", problem));
}

// Room for what a decoder gives. Its steps do not depend on what `out` was before, since how much comes out of damaged
// data depends on them.
class Output {
 public:
  Output(std::vector<uint8_t>* out, size_t in, size_t most) : out_(out), most_(most) {
    out_->resize(std::min(most_, std::max(kFirstBytes, std::min(most_, in) * 4)));
  }
  ~Output() { out_->resize(size_); }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  // One byte at least, unless all is full.
  absl::Span<uint8_t> Room() {
    if (size_ == out_->size()) out_->resize(std::min(most_, std::max(kFirstBytes, size_ * 2)));
    return absl::MakeSpan(*out_).subspan(size_);
  }
  void Add(size_t bytes) { size_ += bytes; }
  size_t size() const { return size_; }

 private:
  std::vector<uint8_t>* out_;
  const size_t most_;
  size_t size_ = 0;
};

absl::Status CheckSize(absl::string_view what, size_t size, size_t expected) {
  if (size == expected) return absl::OkStatus();
  return Damaged(what, absl::StrCat(size, " bytes where ", expected, " are said to be"));
}

}  // namespace

absl::Status DecompressLz4Frame(Bytes data, size_t expected_size, std::vector<uint8_t>* out) {
  Output output(out, data.size(), expected_size);
  LZ4F_dctx* context = nullptr;
  if (LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION)) != 0) return absl::InternalError("lz4");
  const std::unique_ptr<LZ4F_dctx, size_t (*)(LZ4F_dctx*)> owner(context, LZ4F_freeDecompressionContext);
  size_t wanted = 1;  // of input; 0: a frame has ended
  while (!data.empty()) {
    const absl::Span<uint8_t> room = output.Room();
    size_t in = data.size(), written = room.size();
    wanted = LZ4F_decompress(context, room.data(), &written, data.data(), &in, nullptr);
    if (LZ4F_isError(wanted) != 0) return Damaged("lz4", LZ4F_getErrorName(wanted));
    if (in == 0 && written == 0) return Damaged("lz4", absl::StrCat("more than ", expected_size, " bytes"));
    data.remove_prefix(in);
    output.Add(written);
  }
  // Input is used up only once all that it gives is out, or there is no room left.
  if (wanted != 0) return Damaged("lz4", "cut off, or more than is said");
  return CheckSize("lz4", output.size(), expected_size);
}

absl::Status DecompressZstd(Bytes data, size_t most, std::vector<uint8_t>* out) {
  Output output(out, data.size(), most);
  const std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(), ZSTD_freeDCtx);
  if (context == nullptr) return absl::InternalError("zstd");
  ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, kZstdWindowLog);
  ZSTD_inBuffer in = {data.data(), data.size(), 0};
  size_t wanted = 1;  // of input; 0: a frame has ended
  while (true) {
    const absl::Span<uint8_t> room = output.Room();
    ZSTD_outBuffer to = {room.data(), room.size(), 0};
    const size_t before = in.pos;
    wanted = ZSTD_decompressStream(context.get(), &to, &in);
    if (ZSTD_isError(wanted) != 0) return Damaged("zstd", ZSTD_getErrorName(wanted));
    output.Add(to.pos);
    // A frame is over once all of it is out.
    if (in.pos == in.size && (wanted == 0 || to.pos < room.size())) break;
    if (in.pos == before && to.pos == 0) return Damaged("zstd", absl::StrCat("more than ", most, " bytes"));
  }
  return wanted == 0 ? absl::OkStatus() : Damaged("zstd", "cut off");
}

absl::Status DecompressBzip2(Bytes data, size_t expected_size, std::vector<uint8_t>* out) {
  constexpr size_t kStep = std::numeric_limits<int>::max();  // sizes of the library are unsigned int
  Output output(out, data.size(), expected_size);
  while (!data.empty()) {
    bz_stream stream = {};
    if (BZ2_bzDecompressInit(&stream, 0, 0) != BZ_OK) return absl::InternalError("bzip2");
    const std::unique_ptr<bz_stream, int (*)(bz_stream*)> owner(&stream, BZ2_bzDecompressEnd);
    for (int state = BZ_OK; state != BZ_STREAM_END;) {
      const absl::Span<uint8_t> room = output.Room();
      stream.next_in = const_cast<char*>(reinterpret_cast<const char*>(data.data()));
      stream.next_out = reinterpret_cast<char*>(room.data());
      const auto in = static_cast<unsigned>(std::min(data.size(), kStep));
      const auto to = static_cast<unsigned>(std::min(room.size(), kStep));
      stream.avail_in = in;
      stream.avail_out = to;
      state = BZ2_bzDecompress(&stream);
      if (state != BZ_OK && state != BZ_STREAM_END) return Damaged("bzip2", "damaged");
      data.remove_prefix(in - stream.avail_in);
      output.Add(to - stream.avail_out);
      if (state == BZ_OK && stream.avail_in == in && stream.avail_out == to) {
        return Damaged("bzip2", data.empty() ? "cut off" : absl::StrCat("more than ", expected_size, " bytes"));
      }
    }
  }
  return CheckSize("bzip2", output.size(), expected_size);
}

absl::Status CompressZstd(Bytes data, std::vector<uint8_t>* out) {
  out->resize(ZSTD_compressBound(data.size()));
  const size_t size = ZSTD_compress(out->data(), out->size(), data.data(), data.size(), ZSTD_CLEVEL_DEFAULT);
  if (ZSTD_isError(size) != 0) return absl::InternalError(absl::StrCat("zstd: ", ZSTD_getErrorName(size)));
  out->resize(size);
  return absl::OkStatus();
}

}  // namespace glint::bag
