#include "server/net/http2_guard.h"

#include <algorithm>

namespace glint {
namespace {

struct Limit {
  const char* name;
  double burst, per_second;                // of a connection
  double shared_burst, shared_per_second;  // of its peer, beyond that
};

constexpr int kCallsOfAPeer = kSharedCalls / 2;

// By Http2Load. An unanswered call takes 22 KiB of gRPC. Clients update windows at each of the server's DATA frames at
// most, ping once a round trip while they measure it, and send CONTINUATIONs only for headers above 16 KiB.
constexpr Limit kLimits[] = {
    {"unanswered calls", kOwnCalls, 4, kCallsOfAPeer, 512},
    {"bytes of headers", 32 << 10, 16 << 10, 1 << 20, 8 << 20},
    {"RST_STREAM frames", 8, 4, kCallsOfAPeer, 512},
    {"unanswered PING frames", 20, 10, 1000, 100},
    {"unanswered SETTINGS frames", 10, 2, 200, 50},
    {"acknowledgements", 20, 10, 1000, 1000},
    {"WINDOW_UPDATE frames", 200, 100, 20000, 20000},
    {"PRIORITY frames", 20, 1, 200, 50},
    {"CONTINUATION frames", 32, 16, 1000, 1000},
    {"empty DATA frames", 20, 10, 200, 100},
    {"small DATA frames", 200, 100, 50000, 20000},
    {"frames of other kinds", 10, 1, 100, 10},
};
static_assert(std::size(kLimits) == static_cast<size_t>(Http2Load::kCount));

constexpr char kHeaderBlock[] = "bytes of a header block";
constexpr char kFrameLength[] = "bytes of a frame";
constexpr char kNotHttp2[] = "bytes before HTTP/2";

constexpr char kPreface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr size_t kPrefaceBytes = sizeof(kPreface) - 1;

enum : uint8_t {
  kData = 0,
  kHeaders = 1,
  kPriorityType = 2,
  kResetStream = 3,
  kSettingsType = 4,
  kPingType = 6,
  kWindowUpdateType = 8,
  kContinuationType = 9
};
constexpr uint8_t kEndStream = 1, kAck = 1, kEndHeaders = 4;

// Frames of a client that one of the server's DATA or HEADERS frames allows: updates of the windows of stream and
// connection, and the pieces of the next message.
constexpr uint32_t kUpdatesPerFrame = 2, kPiecesPerFrame = 4;
// Bytes of headers that an answered call gives back, whatever it had: what calls with a token have.
constexpr uint32_t kHeaderBytesPerCall = 2048;

constexpr size_t At(Http2Load load) { return static_cast<size_t>(load); }

}  // namespace

bool TokenBucket::Take(double count, int64_t now_ns, double burst, double per_second) {
  if (now_ns > at_ns_) {
    missing_ = std::max(0.0, missing_ - static_cast<double>(now_ns - at_ns_) * 1e-9 * per_second);
    at_ns_ = now_ns;
  }
  if (missing_ + count > burst) return false;
  missing_ += count;
  return true;
}

bool Http2Peer::Take(Http2Load load, double count, int64_t now_ns) {
  if (all_ != nullptr && !all_->Take(load, count, now_ns)) return false;
  const Limit& limit = kLimits[At(load)];
  const int peers = all_ == nullptr ? kPeersAtOnce : 1;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (buckets_[At(load)].Take(count, now_ns, peers * limit.shared_burst, peers * limit.shared_per_second))
      return true;
  }
  if (all_ != nullptr) all_->Return(load, count);
  return false;
}

void Http2Peer::Return(Http2Load load, double count) {
  if (all_ != nullptr) all_->Return(load, count);
  std::lock_guard<std::mutex> lock(mutex_);
  buckets_[At(load)].Return(count);
}

bool Http2Frames::Next(const uint8_t** bytes, size_t* size, Header* header) {
  const size_t skipped = std::min<size_t>(skip_, *size);
  *bytes += skipped;
  *size -= skipped;
  skip_ -= static_cast<uint32_t>(skipped);
  const size_t taken = std::min(kHeaderBytes - have_, *size);
  std::copy_n(*bytes, taken, header_ + have_);
  *bytes += taken;
  *size -= taken;
  have_ += taken;
  if (have_ < kHeaderBytes) return false;
  *header = {static_cast<uint32_t>(header_[0] << 16 | header_[1] << 8 | header_[2]),
             uint32_t{header_[5]} << 24 | static_cast<uint32_t>(header_[6] << 16 | header_[7] << 8 | header_[8]),
             header_[3], header_[4]};
  have_ = 0;
  skip_ = header->length;
  return true;
}

const char* Http2Guard::Receive(const uint8_t* bytes, size_t size, Http2Peer* peer) {
  if (over_ != nullptr) return over_;
  for (; preface_ < kPrefaceBytes && size > 0; ++preface_, ++bytes, --size) {
    if (*bytes != static_cast<uint8_t>(kPreface[preface_])) return over_ = kNotHttp2;
  }
  Http2Frames::Header frame;
  if (!in_.Next(&bytes, &size, &frame)) return nullptr;
  const int64_t now_ns = clock_();
  TakeBack(peer);
  do over_ = Count(frame, now_ns, peer);
  while (over_ == nullptr && in_.Next(&bytes, &size, &frame));
  return over_;
}

const char* Http2Guard::Count(const Http2Frames::Header& frame, int64_t now_ns, Http2Peer* peer) {
  const auto take = [&](Http2Load load, double count = 1) {
    return Take(load, count, now_ns, peer) ? nullptr : kLimits[At(load)].name;
  };
  const bool ack = (frame.flags & kAck) != 0;
  if (frame.type == kData || frame.type == kHeaders) last_call_ns_ = now_ns;
  if (frame.type == kData) {
    if (frame.length == 0 && (frame.flags & kEndStream) == 0) return take(Http2Load::kEmptyData);
    return frame.length < kSmallDataBytes ? take(Http2Load::kSmallData) : nullptr;
  }
  if (frame.length > kMaxControlFrameBytes) return kFrameLength;
  switch (frame.type) {
    case kHeaders:
    case kContinuationType: {
      if (frame.type == kHeaders) block_ = 0;
      block_ += frame.length;
      if (block_ > kMaxHeaderBlockBytes) return kHeaderBlock;
      const char* const over = take(Http2Load::kHeaderBytes, frame.length);
      if (over != nullptr) return over;
      if (frame.type == kContinuationType) return take(Http2Load::kContinuation);
      Return(Http2Load::kReset, 1, peer);
      ++open_calls_;
      return take(Http2Load::kCall);
    }
    case kResetStream:
      return take(Http2Load::kReset);
    case kPingType:
      return take(ack ? Http2Load::kAcknowledgement : Http2Load::kPing);
    case kSettingsType:
      return take(ack ? Http2Load::kAcknowledgement : Http2Load::kSettings);
    case kWindowUpdateType:
      return take(Http2Load::kWindowUpdate);
    case kPriorityType:
      return take(Http2Load::kPriority);
    default:
      return take(Http2Load::kOther);
  }
}

void Http2Guard::Send(const uint8_t* bytes, size_t size) {
  const auto answer = [this](Http2Load load, uint32_t count = 1) { answered_[At(load)] += count; };
  Http2Frames::Header frame;
  while (out_.Next(&bytes, &size, &frame)) {
    if (frame.type == kPingType && (frame.flags & kAck) != 0) answer(Http2Load::kPing);
    if (frame.type == kSettingsType && (frame.flags & kAck) != 0) answer(Http2Load::kSettings);
    if (frame.type == kData || frame.type == kHeaders) {
      answer(Http2Load::kWindowUpdate, kUpdatesPerFrame);
      answer(Http2Load::kSmallData, kPiecesPerFrame);
    }
    // RST_STREAM follows the trailers of a call whose client has not ended its side.
    const bool ended = frame.type == kHeaders && (frame.flags & kEndStream) != 0;
    if (!ended && (frame.type != kResetStream || frame.stream == last_ended_)) continue;
    if (ended) last_ended_ = frame.stream;
    answer(Http2Load::kCall);
    answer(Http2Load::kHeaderBytes, kHeaderBytesPerCall);
    --open_calls_;
  }
  any_answered_ = true;
}

bool Http2Guard::Take(Http2Load load, double count, int64_t now_ns, Http2Peer* peer) {
  const Limit& limit = kLimits[At(load)];
  if (buckets_[At(load)].Take(count, now_ns, limit.burst, limit.per_second)) return true;
  if (peer == nullptr || !peer->Take(load, count, now_ns)) return false;
  borrowed_[At(load)] += count;
  return true;
}

// What was borrowed is returned first.
void Http2Guard::Return(Http2Load load, double count, Http2Peer* peer) {
  double& borrowed = borrowed_[At(load)];
  const double to_peer = peer == nullptr ? 0 : std::min(count, borrowed);
  borrowed -= to_peer;
  if (to_peer > 0) peer->Return(load, to_peer);
  buckets_[At(load)].Return(count - to_peer);
}

void Http2Guard::TakeBack(Http2Peer* peer) {
  if (!any_answered_.load(std::memory_order_relaxed)) return;
  any_answered_ = false;
  for (size_t i = 0; i < kLoads; ++i) {
    if (answered_[i].load(std::memory_order_relaxed) == 0) continue;
    Return(static_cast<Http2Load>(i), answered_[i].exchange(0), peer);
  }
}

}  // namespace glint
