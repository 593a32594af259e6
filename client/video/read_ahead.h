// A pipe beside others: whoever writes several in turn is not kept waiting by the one that is read later.
#ifndef GLINT_CLIENT_VIDEO_READ_AHEAD_H_
#define GLINT_CLIENT_VIDEO_READ_AHEAD_H_

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/video/process.h"
#include "client/video/y4m.h"

namespace glint::video {

// The bytes of a descriptor, which a thread of its own reads as they come. Thread-compatible.
class ReadAhead : public ByteSource {
 public:
  static constexpr size_t kLimit = size_t{32} << 20;  // bytes that are kept; a frame has fewer

  // As DescriptorBytes has it, but that `patience.stop` is called by that thread. UNAVAILABLE: no thread can be made.
  static absl::StatusOr<std::unique_ptr<ReadAhead>> Start(int descriptor, Patience patience);
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;
  ~ReadAhead() override;

  absl::StatusOr<size_t> Read(uint8_t* to, size_t size) override;

 private:
  ReadAhead(int descriptor, Patience patience);
  void Run();

  std::atomic<bool> ending_{false};
  std::unique_ptr<DescriptorBytes> bytes_;
  std::mutex mutex_;  // guards what follows up to end_
  std::condition_variable changed_;
  std::deque<std::vector<uint8_t>> chunks_;  // none is empty
  size_t taken_ = 0;                         // bytes of the first one that Read() has given
  size_t kept_ = 0;                          // bytes of all
  bool ended_ = false;
  absl::Status end_;  // with ended_: why
  std::thread thread_;
};

}  // namespace glint::video

#endif  // GLINT_CLIENT_VIDEO_READ_AHEAD_H_
