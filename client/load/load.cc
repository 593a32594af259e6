#include "client/load/load.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "features/status_macros.h"

namespace glint::load {
namespace {

constexpr int64_t kNsPerSecond = 1'000'000'000;
constexpr int64_t kLongestNapNs = 20'000'000;  // so that a wish to stop is noticed
constexpr int64_t kPollNs = 1'000'000;         // for last answers, when nothing is measured by it any more

std::shared_ptr<grpc::Channel> OpenChannel(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // else all streams share a connection
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

void SleepUntil(int64_t ns) {
  const timespec at = {static_cast<time_t>(ns / kNsPerSecond),
                       static_cast<decltype(timespec::tv_nsec)>(ns % kNsPerSecond)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr) == EINTR) {
  }
}

double CpuSeconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Half of the processors are the server's, if it is on this machine.
size_t WorkerCount(int streams) {
  const unsigned processors = std::max(1u, std::thread::hardware_concurrency() / 2);
  return std::min(static_cast<size_t>(streams), size_t{processors});
}

}  // namespace

Load::Load(const Target& target, int streams, const std::vector<FrameBody>* frames) {
  for (size_t i = 0; i < WorkerCount(streams); ++i) workers_.push_back(std::make_unique<Worker>());
  for (int i = 0; i < streams; ++i) {
    Worker* const worker = workers_[static_cast<size_t>(i) % workers_.size()].get();
    streams_.push_back(std::make_unique<LoadStream>(OpenChannel(target.address), target.task, target.glint,
                                                    target.first, frames, static_cast<size_t>(i), &worker->queue,
                                                    &worker->recorder));
    worker->streams.emplace_back(static_cast<size_t>(i), streams_.back().get());
  }
  schedules_.resize(streams_.size());
  for (const auto& worker : workers_) worker->thread = std::thread(Complete, worker.get());
}

Load::~Load() {
  for (const auto& stream : streams_) stream->Cancel();
  for (const auto& stream : streams_) {
    while (!stream->over()) SleepUntil(MonotonicNs() + kPollNs);
  }
  for (const auto& worker : workers_) worker->queue.Shutdown();
  for (const auto& worker : workers_) worker->thread.join();
}

void Load::Complete(Worker* worker) {
  void* tag = nullptr;
  bool ok = false;
  while (worker->queue.Next(&tag, &ok)) static_cast<LoadStream::Tag*>(tag)->Run(ok, MonotonicNs());
}

absl::StatusOr<RunResult> Load::Run(const RunOptions& options) {
  GLINT_RETURN_IF_ERROR(WaitUntilOpen(options.patience));
  const double cpu_before = CpuSeconds();
  const int64_t start_ns = MonotonicNs();
  const int64_t record_from_ns = start_ns + absl::ToInt64Nanoseconds(options.warm_up);
  std::atomic<int64_t> end_ns = record_from_ns + absl::ToInt64Nanoseconds(options.duration);
  Schedule schedule;
  schedule.in_flight = options.in_flight;
  schedule.record_from_ns = record_from_ns;
  schedule.end_ns = end_ns;
  const double frame_ns = options.rate > 0 ? static_cast<double>(kNsPerSecond) / options.rate : 0;
  schedule.interval_ns = frame_ns * static_cast<double>(streams_.size());
  for (size_t i = 0; i < streams_.size(); ++i) {
    schedule.first_due_ns = start_ns + static_cast<int64_t>(frame_ns * static_cast<double>(i));
    schedules_[i] = schedule;
    streams_[i]->Begin(schedule);
  }

  std::vector<std::thread> pacers;
  if (schedule.open_loop()) {
    for (const auto& worker : workers_) {
      pacers.emplace_back([&, w = worker.get()] { Pace(*w, end_ns); });
    }
  } else {
    for (const auto& stream : streams_) stream->SendDue();
  }
  WaitForEnd(options, &end_ns);
  for (std::thread& pacer : pacers) pacer.join();
  const int64_t give_up_ns = end_ns + absl::ToInt64Nanoseconds(options.patience);
  while (!Idle(MonotonicNs()) && MonotonicNs() < give_up_ns) SleepUntil(MonotonicNs() + kPollNs);
  GLINT_RETURN_IF_ERROR(Broken());
  const int64_t now_ns = MonotonicNs();
  if (!Idle(now_ns)) {
    given_up_ = true;
    for (const auto& stream : streams_) stream->GiveUp(now_ns);
  }

  RunResult result;
  int64_t last_ns = given_up_ ? now_ns : end_ns.load();
  for (const auto& worker : workers_) {
    int64_t last_answer_ns = 0;
    result.measured.Merge(worker->recorder.Take(&last_answer_ns));
    last_ns = std::max(last_ns, last_answer_ns);
  }
  result.seconds = std::max(0.0, static_cast<double>(last_ns - record_from_ns) / static_cast<double>(kNsPerSecond));
  result.cpu_seconds = CpuSeconds() - cpu_before;
  return result;
}

absl::Status Load::WaitUntilOpen(absl::Duration patience) const {
  const int64_t deadline_ns = MonotonicNs() + absl::ToInt64Nanoseconds(patience);
  const auto open = [](const auto& stream) { return stream->open(); };
  while (!std::all_of(streams_.begin(), streams_.end(), open)) {
    GLINT_RETURN_IF_ERROR(Broken());
    if (MonotonicNs() > deadline_ns) return absl::UnavailableError("the server takes no stream");
    SleepUntil(MonotonicNs() + kPollNs);
  }
  return Broken();
}

void Load::WaitForEnd(const RunOptions& options, std::atomic<int64_t>* end_ns) {
  for (int64_t now_ns = MonotonicNs(); now_ns < *end_ns; now_ns = MonotonicNs()) {
    if (options.stop() || !Broken().ok()) {
      *end_ns = now_ns;
      for (const auto& stream : streams_) stream->StopAt(now_ns);
      return;
    }
    SleepUntil(std::min(now_ns + kLongestNapNs, end_ns->load()));
  }
}

void Load::Pace(const Worker& worker, const std::atomic<int64_t>& end_ns) const {
  prctl(PR_SET_TIMERSLACK, 1);  // ns; by default the kernel may wake us 50 us late
  for (int64_t turn = 0;; ++turn) {
    for (const auto& [index, stream] : worker.streams) {
      const int64_t due_ns = schedules_[index].DueAt(turn);
      while (MonotonicNs() < due_ns) {
        if (due_ns >= end_ns) return;
        SleepUntil(std::min(due_ns, MonotonicNs() + kLongestNapNs));
      }
      if (due_ns >= end_ns) return;
      stream->SendDue();
    }
  }
}

absl::Status Load::Broken() const {
  for (const auto& stream : streams_) {
    GLINT_RETURN_IF_ERROR(stream->broken());
  }
  return absl::OkStatus();
}

bool Load::Idle(int64_t now_ns) const {
  return std::all_of(streams_.begin(), streams_.end(), [now_ns](const auto& s) { return s->Idle(now_ns); });
}

absl::Status Load::Close(absl::Duration patience) {
  for (const auto& stream : streams_) stream->HalfClose();
  const int64_t deadline_ns = MonotonicNs() + absl::ToInt64Nanoseconds(patience);
  const auto over = [](const auto& stream) { return stream->over(); };
  while (!std::all_of(streams_.begin(), streams_.end(), over)) {
    if (MonotonicNs() > deadline_ns) return absl::DeadlineExceededError("the server does not end its streams");
    SleepUntil(MonotonicNs() + kPollNs);
  }
  return Broken();
}

}  // namespace glint::load
