// Bounds what a client can make gRPC do by the frames of an HTTP/2 connection alone, before the server's code sees a
// call. Reads the headers of frames (RFC 9113, section 4.1) and nothing else; does no I/O.
//
// What is counted is what the server has not answered: answers give back what their questions took, so a client that
// waits for answers is as fast as the server, and one that does not wait is stopped after a burst. A connection has a
// small budget of its own. Beyond it, all connections of a peer share one, and all peers, so that neither many
// connections nor many addresses are a way around it, and modest connections are not stopped for greedy ones.
#ifndef GLINT_SERVER_NET_HTTP2_GUARD_H_
#define GLINT_SERVER_NET_HTTP2_GUARD_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

namespace glint {

// What is counted. The limits are a table in http2_guard.cc.
enum class Http2Load {
  kCall,         // HEADERS; answered by the HEADERS or RST_STREAM that end the stream
  kHeaderBytes,  // of HEADERS and CONTINUATION
  kReset,        // RST_STREAM; each HEADERS allows one
  kPing,         // answered by their acknowledgements, as SETTINGS are
  kSettings,
  kAcknowledgement,
  kWindowUpdate,  // the server's DATA and HEADERS allow more of them
  kPriority,
  kContinuation,
  kEmptyData,  // without END_STREAM
  kSmallData,  // DATA below kSmallDataBytes; the server's DATA and HEADERS allow more of them
  kOther,
  kCount
};

// Bytes of a header block, from HEADERS to END_HEADERS, at most. gRPC refuses calls with more than 8 KiB of metadata by
// a status, but stores one line before it looks.
inline constexpr uint32_t kMaxHeaderBlockBytes = 32 << 10;
// Bytes of a frame that is not DATA, at most: what a server must accept by RFC 9113 and gRPC's clients keep to.
inline constexpr uint32_t kMaxControlFrameBytes = 16 << 10;
inline constexpr uint32_t kSmallDataBytes = 256;
// Calls that a connection may have unanswered by its own budget, and all connections beyond that.
inline constexpr int kOwnCalls = 2, kSharedCalls = 1536;

// Budget that grows with time up to a limit.
class TokenBucket {
 public:
  // Takes `count` at `now_ns`, or nothing.
  bool Take(double count, int64_t now_ns, double burst, double per_second);
  void Return(double count) { missing_ = missing_ > count ? missing_ - count : 0; }

 private:
  double missing_ = 0;  // burst - missing_ can be taken
  int64_t at_ns_ = 0;   // time of missing_
};

// Budget of all connections of a peer, or of all peers. Thread-safe.
class Http2Peer {
 public:
  // `all`, which must outlive the peer, has kPeersAtOnce times as much; null: this is it.
  explicit Http2Peer(Http2Peer* all) : all_(all) {}
  bool Take(Http2Load load, double count, int64_t now_ns);
  void Return(Http2Load load, double count);

 private:
  static constexpr int kPeersAtOnce = 2;
  Http2Peer* const all_;
  std::mutex mutex_;
  std::array<TokenBucket, static_cast<size_t>(Http2Load::kCount)> buckets_;
};

// Finds the headers of frames in a sequence of bytes, cut anywhere.
class Http2Frames {
 public:
  struct Header {
    uint32_t length, stream;
    uint8_t type, flags;
  };
  // Consumes `*size` bytes or those up to the end of the next frame's header, and moves `*bytes` on. True: it is in
  // `*header`.
  bool Next(const uint8_t** bytes, size_t* size, Header* header);

 private:
  static constexpr size_t kHeaderBytes = 9;
  uint32_t skip_ = 0;  // bytes of the payload to come
  size_t have_ = 0;    // bytes of header_
  uint8_t header_[kHeaderBytes];
};

// A connection as its server sees it. One thread may be in Receive() while another is in Send().
class Http2Guard {
 public:
  using Clock = int64_t (*)();  // nanoseconds, never less than before

  // `clock` is asked once for each call of Receive() that a frame begins in.
  explicit Http2Guard(Clock clock) : clock_(clock) {}

  // Bytes that the client has sent. Null, or what is over its limit, such as "PING frames"; then the connection has to
  // be closed. The answer does not depend on how the bytes are cut. `peer` may be null and must outlive what was taken
  // from it.
  const char* Receive(const uint8_t* bytes, size_t size, Http2Peer* peer);
  // Bytes that the server has sent.
  void Send(const uint8_t* bytes, size_t size);
  // HEADERS received and not yet answered; those of streams that the client has reset are among them.
  int64_t open_calls() const { return open_calls_; }
  // Time of the last HEADERS or DATA frame; 0: there was none.
  int64_t last_call_ns() const { return last_call_ns_; }

 private:
  const char* Count(const Http2Frames::Header& frame, int64_t now_ns, Http2Peer* peer);
  bool Take(Http2Load load, double count, int64_t now_ns, Http2Peer* peer);
  void Return(Http2Load load, double count, Http2Peer* peer);
  void TakeBack(Http2Peer* peer);

  static constexpr size_t kLoads = static_cast<size_t>(Http2Load::kCount);
  const Clock clock_;
  size_t preface_ = 0;  // bytes of it received
  const char* over_ = nullptr;
  uint32_t block_ = 0;  // bytes of the header block that is received
  Http2Frames in_, out_;
  std::array<TokenBucket, kLoads> buckets_;
  std::array<double, kLoads> borrowed_{};                 // from the peer
  std::array<std::atomic<uint32_t>, kLoads> answered_{};  // by Send(), for Receive() to take back
  std::atomic<bool> any_answered_{false};
  uint32_t last_ended_ = 0;  // stream that the server's last HEADERS with END_STREAM are of
  std::atomic<int64_t> open_calls_{0}, last_call_ns_{0};
};

}  // namespace glint

#endif  // GLINT_SERVER_NET_HTTP2_GUARD_H_
