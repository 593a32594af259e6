#include "client/video/read_ahead.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

namespace glint::video {
namespace {

constexpr size_t kChunk = size_t{1} << 16;  // a pipe's bytes, as Linux makes them

}  // namespace

absl::StatusOr<std::unique_ptr<ReadAhead>> ReadAhead::Start(int descriptor, Patience patience) {
  auto ahead = std::unique_ptr<ReadAhead>(new ReadAhead(descriptor, std::move(patience)));
  try {
    ahead->thread_ = std::thread(&ReadAhead::Run, ahead.get());
  } catch (const std::system_error& error) {
    return absl::UnavailableError(absl::StrCat("no thread can be made that reads it: ", error.what()));
  }
  return ahead;
}

ReadAhead::ReadAhead(int descriptor, Patience patience) {
  patience.stop = [this, stop = std::move(patience.stop)] { return ending_ || stop(); };
  bytes_ = std::make_unique<DescriptorBytes>(descriptor, std::move(patience));
}

ReadAhead::~ReadAhead() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void ReadAhead::Run() {
  absl::Status status;
  std::vector<uint8_t> buffer(kChunk);
  while (true) {
    const auto count = bytes_->Read(buffer.data(), buffer.size());
    status = count.status();
    if (!count.ok() || *count == 0) break;
    std::unique_lock<std::mutex> lock(mutex_);
    kept_ += *count;
    chunks_.emplace_back(buffer.begin(), buffer.begin() + static_cast<ptrdiff_t>(*count));
    changed_.notify_all();
    changed_.wait(lock, [this] { return kept_ < kLimit || ending_; });
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  ended_ = true;
  end_ = std::move(status);
  changed_.notify_all();
}

absl::StatusOr<size_t> ReadAhead::Read(uint8_t* to, size_t size) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return !chunks_.empty() || ended_; });
  if (chunks_.empty()) {
    if (!end_.ok()) return end_;
    return 0;
  }
  const std::vector<uint8_t>& first = chunks_.front();
  const size_t count = std::min(size, first.size() - taken_);
  std::copy_n(first.begin() + static_cast<ptrdiff_t>(taken_), count, to);
  taken_ += count;
  if (taken_ == first.size()) {
    kept_ -= first.size();
    taken_ = 0;
    chunks_.pop_front();
    changed_.notify_all();
  }
  return count;
}

}  // namespace glint::video
