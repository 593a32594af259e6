#include "decode/jpeg.h"

// jpeglib.h needs FILE and size_t, and does not include them.
#include <jerror.h>
#include <jpeglib.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "decode/jpeg_parts.h"
#include "features/error.h"
#include "features/status_macros.h"

namespace glint::decode {
namespace {

// libjpeg-turbo's cjpeg writes 10 scans, the most thorough optimisers a few dozen. Every scan costs a pass over the
// picture, so a small file with thousands of them could keep a thread busy for hours.
constexpr int kMaxScans = 100;

// A picture that threads share has this many parts for each, since some parts have more in them than others.
constexpr int kPartsPerThread = 2;
constexpr int64_t kPixelsWorthAThread = 128 * 128;
constexpr uint8_t kEndOfImage[] = {0xff, 0xd9};
constexpr char kEndsEarly[] = "the file ends before the picture does";

// Components of a file of inks: cyan, magenta, yellow and black, or luma and chroma of the first three and black.
constexpr int kInks = 4;
constexpr JDIMENSION kRows = 8;  // that libjpeg is asked for at a time

// libjpeg goes on after a "warning" with pixels that it made up. These few do not touch the pixels of a whole file;
// every other one is an error here.
bool IsHarmless(int message_code) {
  switch (message_code) {
    case JWRN_EXTRANEOUS_DATA:  // padding between segments; many cameras write it
    case JWRN_ADOBE_XFORM:
    case JWRN_BOGUS_ICC:
    case JWRN_JFIF_MAJOR:
    case JWRN_NOT_SEQUENTIAL:
      return true;
    default:
      return false;
  }
}

// The grey that OpenCV makes of a row of inks, which Adobe's programs store inverted: 255 is no ink. Black dims the
// light that each of the three others leaves, and red, green and blue weigh 0.299, 0.587 and 0.114 in 14 bits.
void GrayOfInks(const uint8_t* inks, int width, uint8_t* gray) {
  constexpr int kBits = 14, kRed = 4899, kGreen = 9617, kBlue = (1 << kBits) - kRed - kGreen;
  for (int x = 0; x < width; ++x, inks += kInks) {
    const int black = inks[3];
    const auto light = [black](int ink) { return black - ((255 - ink) * black >> 8); };
    const int sum = kRed * light(inks[0]) + kGreen * light(inks[1]) + kBlue * light(inks[2]);
    gray[x] = static_cast<uint8_t>((sum + (1 << (kBits - 1))) >> kBits);
  }
}

}  // namespace

// A file, in as many as five pieces.
struct Input {
  std::array<absl::Span<const uint8_t>, 5> pieces;
  size_t next = 0;

  // A whole file is one piece. With an end marker behind it, one that lacks its own is read to the end; the decoders of
  // Huffman codes see where bits are missing.
  void AddEndMarker() { pieces[1] = kEndOfImage; }
  // Whether that marker has been read.
  bool lacks_end() const { return next == 2 && pieces[1].data() == kEndOfImage; }
};

// libjpeg reports errors through longjmp here, as its interface demands. Only the first three static functions below
// call setjmp; after it they own nothing and hold only plain values, so that no destructor is ever jumped over.
struct JpegDecoder::State {
  jpeg_decompress_struct info;
  jpeg_error_mgr error;
  jpeg_source_mgr source;
  jpeg_progress_mgr progress;
  std::jmp_buf escape;
  char message[JMSG_LENGTH_MAX];
  Input input;
  std::vector<uint8_t> inks;  // kRows rows of a picture of inks; kept from file to file

  // false: `message` says why.
  static bool Create(State* state);
  static bool ReadHeader(State* state, const Input& input);
  static bool ReadPixels(State* state, const Destination& to);

  // What libjpeg calls back.
  static void Escape(j_common_ptr info);
  static void OnMessage(j_common_ptr info, int level);
  static void OnProgress(j_common_ptr info);
  static boolean OnEndOfPiece(j_decompress_ptr info);
  static void SkipInput(j_decompress_ptr info, long count);  // NOLINT(google-runtime-int): libjpeg's type

  static State* Of(j_common_ptr info) { return static_cast<State*>(info->client_data); }

  bool has_inks() const { return info.num_components == kInks; }

  // Whether all scans of the file have come, so far as the header and the scans themselves say.
  bool HasAllScans() const;

  absl::Status Error() const { return ContradictionError("image.data", absl::StrCat("JPEG: ", message)); }
  absl::Status Refusal() const;  // not OK for a good JPEG of a kind that is not decoded
  // After ReadHeader() of a file in one piece. Without restart_units: its parts cannot be decoded alone.
  JpegScan Scan() const;
};

void JpegDecoder::State::Escape(j_common_ptr info) {
  State* state = Of(info);
  info->err->format_message(info, state->message);
  std::longjmp(state->escape, 1);
}

void JpegDecoder::State::OnMessage(j_common_ptr info, int level) {
  if (level >= 0 || IsHarmless(info->err->msg_code)) return;
  State* const state = Of(info);
  if (!state->input.lacks_end()) Escape(info);
  std::snprintf(state->message, sizeof state->message, "%s", kEndsEarly);
  std::longjmp(state->escape, 1);
}

void JpegDecoder::State::OnProgress(j_common_ptr info) {
  State* state = Of(info);
  if (state->info.input_scan_number <= kMaxScans) return;
  std::snprintf(state->message, sizeof state->message, "more than %d scans", kMaxScans);
  std::longjmp(state->escape, 1);
}

boolean JpegDecoder::State::OnEndOfPiece(j_decompress_ptr info) {
  State* state = Of(reinterpret_cast<j_common_ptr>(info));
  while (state->input.next < state->input.pieces.size()) {
    const absl::Span<const uint8_t> piece = state->input.pieces[state->input.next++];
    if (piece.empty()) continue;
    state->source.next_input_byte = piece.data();
    state->source.bytes_in_buffer = piece.size();
    return TRUE;
  }
  std::snprintf(state->message, sizeof state->message, "%s", kEndsEarly);
  std::longjmp(state->escape, 1);
}

void JpegDecoder::State::SkipInput(j_decompress_ptr info, long count) {  // NOLINT(google-runtime-int): libjpeg's type
  if (count <= 0) return;
  auto left = static_cast<size_t>(count);
  while (left > info->src->bytes_in_buffer) {
    left -= info->src->bytes_in_buffer;
    OnEndOfPiece(info);
  }
  info->src->next_input_byte += left;
  info->src->bytes_in_buffer -= left;
}

bool JpegDecoder::State::Create(State* state) {
  state->info.err = jpeg_std_error(&state->error);
  state->info.client_data = state;
  state->error.error_exit = Escape;
  state->error.emit_message = OnMessage;
  state->error.output_message = [](j_common_ptr) {};
  if (setjmp(state->escape) != 0) return false;
  jpeg_create_decompress(&state->info);
  state->progress.progress_monitor = OnProgress;
  state->info.progress = &state->progress;
  state->source.init_source = [](j_decompress_ptr) {};
  state->source.fill_input_buffer = OnEndOfPiece;
  state->source.skip_input_data = SkipInput;
  state->source.resync_to_restart = jpeg_resync_to_restart;
  state->source.term_source = [](j_decompress_ptr) {};
  state->info.src = &state->source;
  return true;
}

bool JpegDecoder::State::ReadHeader(State* state, const Input& input) {
  // Starts with a new decompressor: libjpeg would reuse the previous file's tables for a file without tables.
  jpeg_destroy_decompress(&state->info);
  if (!Create(state)) return false;
  if (setjmp(state->escape) != 0) return false;
  state->input = input;
  state->source.next_input_byte = nullptr;
  state->source.bytes_in_buffer = 0;
  jpeg_read_header(&state->info, TRUE);
  return true;
}

bool JpegDecoder::State::ReadPixels(State* state, const Destination& to) {
  if (state->has_inks()) state->inks.resize(kRows * kInks * static_cast<size_t>(to.shape.width));
  if (setjmp(state->escape) != 0) return false;
  jpeg_decompress_struct* info = &state->info;
  const bool has_inks = state->has_inks();
  info->out_color_space = has_inks ? JCS_CMYK : JCS_GRAYSCALE;
  info->dct_method = JDCT_ISLOW;  // libjpeg's default and OpenCV's
  jpeg_start_decompress(info);
  while (info->output_scanline < info->output_height) {
    JSAMPROW rows[kRows];
    const JDIMENSION first = info->output_scanline;
    JDIMENSION count = 0;
    for (; count < kRows && first + count < info->output_height; ++count) {
      rows[count] = has_inks ? state->inks.data() + count * kInks * static_cast<size_t>(to.shape.width)
                             : to.row(static_cast<int>(first + count));
    }
    count = jpeg_read_scanlines(info, rows, count);
    if (!has_inks) continue;
    for (JDIMENSION i = 0; i < count; ++i) GrayOfInks(rows[i], to.shape.width, to.row(static_cast<int>(first + i)));
  }
  if (state->input.lacks_end() && !state->HasAllScans()) {
    std::snprintf(state->message, sizeof state->message, "%s", kEndsEarly);
    return false;
  }
  jpeg_finish_decompress(info);  // reads on to the end marker
  return true;
}

bool JpegDecoder::State::HasAllScans() const {
  for (int c = 0; c < info.num_components; ++c) {
    if (info.comp_info[c].quant_table == nullptr) return false;  // which its first scan sets
    if (info.progressive_mode == FALSE) continue;
    const int* const missing_bits = info.coef_bits[c];  // of each coefficient; -1: all
    if (std::any_of(missing_bits, missing_bits + DCTSIZE2, [](int bits) { return bits != 0; })) return false;
  }
  return true;
}

absl::Status JpegDecoder::State::Refusal() const {
  if (info.data_precision != 8) {
    return ContradictionError("image.data", absl::StrCat("JPEG: ", info.data_precision, " bits a sample, not 8"));
  }
  if (info.num_components != 1 && info.num_components != 3 && !has_inks()) {
    return ContradictionError(
        "image.data",
        absl::StrCat("JPEG: ", info.num_components, " components; only grey (1), colour (3) and inks (4) are decoded"));
  }
  return absl::OkStatus();
}

JpegScan JpegDecoder::State::Scan() const {
  JpegScan scan;
  const jpeg_component_info& luma = info.comp_info[0];
  if (has_inks()) return scan;  // all components are needed, and rows of chroma depend on those above and below
  const bool one_scan = info.progressive_mode == FALSE && info.arith_code == FALSE &&
                        info.comps_in_scan == info.num_components && luma.h_samp_factor == info.max_h_samp_factor &&
                        luma.v_samp_factor == info.max_v_samp_factor;
  if (!one_scan || (info.num_components == 1 && (luma.h_samp_factor != 1 || luma.v_samp_factor != 1))) return scan;
  scan.shape = {static_cast<int>(info.image_width), static_cast<int>(info.image_height)};
  scan.unit = {DCTSIZE * info.max_h_samp_factor, DCTSIZE * info.max_v_samp_factor};
  scan.restart_units = static_cast<int>(info.restart_interval);
  scan.begin = static_cast<size_t>(source.next_input_byte - input.pieces[0].data());
  return scan;
}

JpegDecoder::JpegDecoder(Parallel* parallel) : parallel_(parallel), state_(std::make_unique<State>()) {
  if (!State::Create(state_.get())) state_ = nullptr;
}

JpegDecoder::~JpegDecoder() {
  if (state_ != nullptr) jpeg_destroy_decompress(&state_->info);
  for (const auto& state : part_states_) jpeg_destroy_decompress(&state->info);
}

absl::StatusOr<Shape> JpegDecoder::Inspect(absl::Span<const uint8_t> file, int64_t max_pixels) {
  if (state_ == nullptr) return absl::ResourceExhaustedError("JPEG: no memory for the decoder");
  if (!State::ReadHeader(state_.get(), Input{{file}})) return state_->Error();
  const jpeg_decompress_struct& info = state_->info;
  GLINT_RETURN_IF_ERROR(CheckSize(info.image_width, info.image_height, max_pixels));
  GLINT_RETURN_IF_ERROR(state_->Refusal());
  return Shape{static_cast<int>(info.image_width), static_cast<int>(info.image_height)};
}

bool JpegDecoder::DecodeParts(absl::Span<const uint8_t> file, const Destination& to) {
  const JpegScan scan = state_->Scan();
  const JpegParts parts = FindJpegParts(file, scan, kPartsPerThread * parallel_->threads());
  if (parts.count < 2) return false;
  while (part_states_.size() < static_cast<size_t>(parts.count)) {
    auto state = std::make_unique<State>();
    if (!State::Create(state.get())) return false;
    part_states_.push_back(std::move(state));
  }
  std::array<bool, JpegParts::kMax> ok = {};
  parallel_->Share(parts.count, [&](int i) {
    const JpegParts::Part& part = parts.part[static_cast<size_t>(i)];
    const uint8_t height[] = {static_cast<uint8_t>(part.rows >> 8), static_cast<uint8_t>(part.rows & 0xff)};
    State* const state = part_states_[static_cast<size_t>(i)].get();
    const size_t after = parts.height_at + 2;
    const Input input = {{file.subspan(0, parts.height_at), height, file.subspan(after, scan.begin - after),
                          file.subspan(part.begin, part.end - part.begin), kEndOfImage}};
    ok[static_cast<size_t>(i)] =
        State::ReadHeader(state, input) &&
        State::ReadPixels(state, {to.row(part.first_row), {to.shape.width, part.rows}, to.stride});
    jpeg_abort_decompress(&state->info);
  });
  return std::all_of(ok.begin(), ok.begin() + parts.count, [](bool one) { return one; });
}

absl::Status JpegDecoder::DecodeInto(absl::Span<const uint8_t> file, const Destination& to) {
  GLINT_ASSIGN_OR_RETURN(const auto shape, Inspect(file, to.shape.pixels()));
  if (shape != to.shape) return ContradictionError("image.data", "changed after its inspection");
  // If a part fails, decoding the whole file gives the pixels or the error.
  const bool share = parallel_ != nullptr && parallel_->threads() > 1 && to.shape.pixels() >= kPixelsWorthAThread;
  const bool shared = share && DecodeParts(file, to);
  if (shared) ++shared_;
  // Arithmetic decoders make up bits that are missing.
  if (state_->info.arith_code == FALSE) state_->input.AddEndMarker();
  const bool ok = shared || State::ReadPixels(state_.get(), to);
  jpeg_abort_decompress(&state_->info);  // gives the picture's memory back
  return ok ? absl::OkStatus() : state_->Error();
}

}  // namespace glint::decode
