// Frames that wait for later messages of their stream: no lane waits with them, and no other stream's frames.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "server/schedule/frame_queue.h"
#include "server/schedule/lane_context.h"

namespace glint {
namespace {

using WhenFull = FrameQueue::WhenFull;

constexpr int64_t kMs = 1'000'000;

// Jobs that wait until a time, or for a message.
struct Work : LaneWork, FrameSink {
  absl::Status Run(const LaneContext&, FrameJob*) override { return absl::OkStatus(); }
  int64_t WaitsUntil(const FrameJob&) override { return has_come ? 0 : until.load(); }
  void OnFrameAdmitted(FrameJob*) override { ++admitted; }
  void OnFrameDone(FrameJob*) override {}

  std::atomic<int64_t> until{0};
  std::atomic<bool> has_come{false};
  std::atomic<int> admitted{0};
};

struct Stream {
  explicit Stream(FrameQueue* a_queue, int64_t wait_ns = 0) : queue(a_queue) {
    flow.MakeSerial();
    if (wait_ns == 0) return;
    work.until = MonotonicNs() + wait_ns;
    queue->MoreMayCome(&flow, true);
  }
  FrameQueue::Admission Push(WhenFull when = WhenFull::kWait) {
    jobs.emplace_back(std::make_unique<FrameJob>());
    jobs.back()->work = &work;
    jobs.back()->sink = &work;
    return queue->Push(&flow, jobs.back().get(), when);
  }

  FrameQueue* queue;
  Work work;
  FrameFlow flow;
  std::vector<std::unique_ptr<FrameJob>> jobs;
};

FrameQueue::Limits LimitsOf(int lanes, int frames = 8) {
  FrameQueue::Limits limits;
  limits.lanes = lanes;
  limits.frames = frames;
  return limits;
}

void Finish(FrameQueue* queue, FrameJob* job) {
  queue->Finished(*job, 1);
  queue->Release(job->bytes, 1, job->in_queue.reserved);
}

// Pops `count` frames on another thread, in their order.
class PoppingLane {
 public:
  PoppingLane(FrameQueue* queue, int count) : thread_([=] { Main(queue, count); }) {}
  ~PoppingLane() { Join(); }
  void Join() {
    if (thread_.joinable()) thread_.join();
  }
  // After Join().
  std::vector<FrameJob*> jobs;

 private:
  void Main(FrameQueue* queue, int count) {
    for (; count > 0; --count) {
      FrameJob* const job = queue->Pop();
      if (job == nullptr) return;
      jobs.push_back(job);
      Finish(queue, job);
    }
  }
  std::thread thread_;
};

void UntilIdle(const FrameQueue& queue, int lanes) {
  while (queue.idle_lanes() < lanes) std::this_thread::yield();
}

TEST(WaitingFramesTest, OthersGoFirstAndTheWaitEnds) {
  FrameQueue queue(LimitsOf(1));
  Stream waits(&queue, 50 * kMs), other(&queue);
  waits.Push();
  other.Push();
  PoppingLane lane(&queue, 2);
  lane.Join();
  ASSERT_EQ(lane.jobs.size(), 2u);
  EXPECT_EQ(lane.jobs[0], other.jobs[0].get());
  EXPECT_EQ(lane.jobs[1], waits.jobs[0].get());
  EXPECT_GE(MonotonicNs(), waits.work.until);
}

TEST(WaitingFramesTest, AMessageEndsTheWait) {
  FrameQueue queue(LimitsOf(1));
  Stream waits(&queue, 3'600'000 * kMs);
  waits.Push();
  waits.Push();  // waits behind it, and then for the same
  PoppingLane lane(&queue, 2);
  UntilIdle(queue, 1);
  waits.work.has_come = true;
  queue.MoreMayCome(&waits.flow, true);
  lane.Join();
  EXPECT_EQ(lane.jobs, (std::vector<FrameJob*>{waits.jobs[0].get(), waits.jobs[1].get()}));
}

TEST(WaitingFramesTest, NothingWaitsWhereNoMessageCanCome) {
  FrameQueue queue(LimitsOf(2));
  Stream waits(&queue, 3'600'000 * kMs), cancelled(&queue, 3'600'000 * kMs), expired(&queue, 3'600'000 * kMs);
  PoppingLane lane(&queue, 3);
  waits.Push();
  cancelled.Push();
  UntilIdle(queue, 1);
  queue.MoreMayCome(&waits.flow, false);
  cancelled.jobs[0]->cancelled = true;
  queue.MoreMayCome(&cancelled.flow, true);
  expired.jobs.emplace_back(std::make_unique<FrameJob>());
  expired.jobs[0]->work = &expired.work;
  expired.jobs[0]->expires_at_ns = 1;
  queue.Push(&expired.flow, expired.jobs[0].get(), WhenFull::kWait);
  lane.Join();
  EXPECT_EQ(lane.jobs.size(), 3u);
}

// A window that is full until the frame is answered is not full any more for the next one.
TEST(WaitingFramesTest, OneFrameMayHaveToBegin) {
  FrameQueue queue(LimitsOf(1));
  Stream waits(&queue, 50 * kMs);
  waits.Push();
  waits.Push();
  PoppingLane lane(&queue, 2);
  UntilIdle(queue, 1);
  queue.MoreMayCome(&waits.flow, true, waits.jobs[0].get());
  lane.Join();
  EXPECT_EQ(lane.jobs.size(), 2u);
  EXPECT_GE(MonotonicNs(), waits.work.until);
}

TEST(WaitingFramesTest, AClosedQueueIsEmptiedAtOnce) {
  FrameQueue queue(LimitsOf(1));
  Stream waits(&queue, 3'600'000 * kMs);
  waits.Push();
  PoppingLane lane(&queue, 2);
  UntilIdle(queue, 1);
  queue.Close();
  lane.Join();
  EXPECT_EQ(lane.jobs.size(), 1u);
}

TEST(WaitingFramesTest, TheyHaveNoPlaceInTheQueue) {
  FrameQueue queue(LimitsOf(1, 1));
  Stream waits(&queue, 3'600'000 * kMs), other(&queue);
  waits.Push();
  EXPECT_EQ(other.Push(WhenFull::kReject), FrameQueue::Admission::kRejected);  // no lane has looked yet
  EXPECT_EQ(other.Push(), FrameQueue::Admission::kWaiting);
  PoppingLane lane(&queue, 2);
  while (other.work.admitted == 0) std::this_thread::yield();  // now one has
  UntilIdle(queue, 1);
  EXPECT_EQ(queue.size(), 1);
  EXPECT_EQ(other.Push(WhenFull::kReject), FrameQueue::Admission::kQueued);
  lane.Join();
  EXPECT_EQ(lane.jobs, (std::vector<FrameJob*>{other.jobs[1].get(), other.jobs[2].get()}));
  FrameList left = queue.Remove(&waits.flow);
  EXPECT_EQ(left.PopFront(), waits.jobs[0].get());
  EXPECT_EQ(other.Push(WhenFull::kReject), FrameQueue::Admission::kQueued);
  EXPECT_EQ(waits.Push(WhenFull::kReject), FrameQueue::Admission::kRejected);
  queue.Remove(&other.flow);
}

// Nor does one of the reserve take a place twice, or give two back.
TEST(WaitingFramesTest, InTheReserveTheyTakeNoPlaceOfOthers) {
  FrameQueue::Limits limits = LimitsOf(1, 1);
  limits.reserve = 80;
  FrameQueue queue(limits);
  Stream waits(&queue, 3'600'000 * kMs), other(&queue), third(&queue);
  other.Push();
  EXPECT_EQ(waits.Push(WhenFull::kReject), FrameQueue::Admission::kQueued);
  EXPECT_EQ(queue.size(), 2);
  PoppingLane lane(&queue, 2);
  UntilIdle(queue, 1);  // it has seen that the frame waits
  EXPECT_EQ(queue.size(), 1);
  EXPECT_EQ(other.Push(WhenFull::kReject), FrameQueue::Admission::kQueued);
  lane.Join();
  EXPECT_EQ(third.Push(WhenFull::kReject), FrameQueue::Admission::kQueued);
  EXPECT_EQ(third.Push(WhenFull::kReject), FrameQueue::Admission::kRejected);
  EXPECT_EQ(queue.size(), 2);
  FrameList left = queue.Remove(&waits.flow);
  EXPECT_EQ(left.PopFront(), waits.jobs[0].get());
  EXPECT_EQ(third.Push(WhenFull::kReject), FrameQueue::Admission::kRejected);
  EXPECT_EQ(queue.size(), 1);
  EXPECT_EQ(other.Push(WhenFull::kReject), FrameQueue::Admission::kQueued);  // the reserve's
  queue.Remove(&other.flow);
  queue.Remove(&third.flow);
}

// The lane that knows how long to wait gets something else to do.
TEST(WaitingFramesTest, AnotherLaneGoesOnWaiting) {
  FrameQueue queue(LimitsOf(2));
  Stream waits(&queue, 100 * kMs), other(&queue);
  std::atomic<bool> is_over{false};
  std::atomic<int> popped{0};
  std::vector<std::thread> lanes;
  for (int i = 0; i < 2; ++i) {
    lanes.emplace_back([&] {
      while (FrameJob* const job = queue.Pop()) {
        const bool is_others = job == other.jobs[0].get();
        while (is_others && !is_over) std::this_thread::yield();  // works until the other lane has the frame that waits
        is_over = true;
        Finish(&queue, job);
        if (++popped == 2) queue.Close();
      }
    });
  }
  UntilIdle(queue, 2);
  waits.Push();
  UntilIdle(queue, 2);
  other.Push();
  for (std::thread& lane : lanes) lane.join();
  EXPECT_EQ(popped, 2);
}

// For the thread sanitizer: messages come while lanes look.
TEST(WaitingFramesTest, MessagesMayComeAtAnyMoment) {
  FrameQueue queue(LimitsOf(2));
  std::atomic<int> popped{0};
  std::vector<std::thread> lanes;
  for (int i = 0; i < 2; ++i) {
    lanes.emplace_back([&] {
      while (FrameJob* const job = queue.Pop()) {
        ++popped;
        Finish(&queue, job);
      }
    });
  }
  constexpr int kFrames = 300;
  std::vector<std::unique_ptr<Stream>> streams;
  for (int i = 0; i < 3; ++i) streams.push_back(std::make_unique<Stream>(&queue, 3'600'000 * kMs));
  for (int i = 0; i < kFrames; ++i) {
    Stream& stream = *streams[static_cast<size_t>(i % 3)];
    stream.work.has_come = false;
    stream.Push();
    stream.work.has_come = true;
    queue.MoreMayCome(&stream.flow, true);
    while (popped <= i) std::this_thread::yield();
  }
  queue.Close();
  for (std::thread& lane : lanes) lane.join();
  EXPECT_EQ(popped, kFrames);
}

}  // namespace
}  // namespace glint
