// FrameQueue, Session, StreamMask, LaneThreads: what is between the network and the lanes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "server/pixels/stream_mask.h"
#include "server/schedule/frame_queue.h"
#include "server/schedule/lane_context.h"
#include "server/schedule/lane_threads.h"
#include "server/session/session.h"
#include "tests/server/fake_lane.h"

namespace glint {
namespace {

using Admission = FrameQueue::Admission;
using WhenFull = FrameQueue::WhenFull;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

FrameQueue::Limits Frames(int frames, int lanes = 1) {
  FrameQueue::Limits limits;
  limits.frames = frames;
  limits.lanes = lanes;
  return limits;
}

class RecordingSink : public FrameSink {
 public:
  void OnFrameAdmitted(FrameJob* job) override { admitted.push_back(job); }
  void OnFrameDone(FrameJob* job) override { done.push_back(job); }
  std::vector<FrameJob*> admitted;
  std::vector<FrameJob*> done;
};

class FrameQueueTest : public ::testing::Test {
 protected:
  FrameJob* NewJob() {
    jobs_.emplace_back();
    jobs_.back().sink = &sink_;
    return &jobs_.back();
  }
  std::vector<FrameJob*> NewJobs(int count) {
    std::vector<FrameJob*> jobs;
    for (int i = 0; i < count; ++i) jobs.push_back(NewJob());
    return jobs;
  }
  static std::vector<FrameJob*> Drain(FrameList list) {
    std::vector<FrameJob*> jobs;
    while (FrameJob* job = list.PopFront()) jobs.push_back(job);
    return jobs;
  }
  static std::vector<FrameJob*> CloseAndPopAll(FrameQueue* queue) {
    queue->Close();
    std::vector<FrameJob*> jobs;
    while (FrameJob* job = queue->Pop()) jobs.push_back(job);
    return jobs;
  }

  RecordingSink sink_;
  std::deque<FrameJob> jobs_;
};

TEST_F(FrameQueueTest, KeepsTheOrderOfOneFlow) {
  FrameQueue queue(Frames(8));
  FrameFlow flow;
  const auto jobs = NewJobs(5);
  for (FrameJob* job : jobs) EXPECT_EQ(queue.Push(&flow, job, WhenFull::kReject), Admission::kQueued);
  EXPECT_EQ(queue.size(), 5);
  EXPECT_THAT(CloseAndPopAll(&queue), ElementsAreArray(jobs));
  EXPECT_EQ(queue.size(), 0);
}

TEST_F(FrameQueueTest, TakesOneOfEachFlowInTurn) {
  FrameQueue queue(Frames(16));
  FrameFlow flood, a, b;
  const auto f = NewJobs(4);
  for (FrameJob* job : f) queue.Push(&flood, job, WhenFull::kReject);
  const auto x = NewJobs(2), y = NewJobs(1);
  queue.Push(&a, x[0], WhenFull::kReject);
  queue.Push(&a, x[1], WhenFull::kReject);
  queue.Push(&b, y[0], WhenFull::kReject);
  EXPECT_THAT(CloseAndPopAll(&queue), ElementsAre(f[0], x[0], y[0], f[1], x[1], f[2], f[3]));
}

TEST_F(FrameQueueTest, AFlowThatComesBackJoinsTheEndOfTheRound) {
  FrameQueue queue(Frames(16));
  FrameFlow a, b;
  const auto x = NewJobs(3), y = NewJobs(2);
  queue.Push(&a, x[0], WhenFull::kReject);
  queue.Push(&b, y[0], WhenFull::kReject);
  queue.Push(&b, y[1], WhenFull::kReject);
  EXPECT_EQ(queue.Pop(), x[0]);  // a leaves
  queue.Push(&a, x[1], WhenFull::kReject);
  EXPECT_THAT(CloseAndPopAll(&queue), ElementsAre(y[0], x[1], y[1]));
}

TEST_F(FrameQueueTest, RefusesBeyondItsCapacity) {
  FrameQueue queue(Frames(2));
  FrameFlow flow;
  const auto jobs = NewJobs(3);
  EXPECT_EQ(queue.Push(&flow, jobs[0], WhenFull::kReject), Admission::kQueued);
  EXPECT_EQ(queue.Push(&flow, jobs[1], WhenFull::kReject), Admission::kQueued);
  EXPECT_EQ(jobs[1]->queue_depth, 1);
  EXPECT_EQ(queue.Push(&flow, jobs[2], WhenFull::kReject), Admission::kRejected);
  EXPECT_EQ(queue.size(), 2);
  EXPECT_THAT(CloseAndPopAll(&queue), ElementsAre(jobs[0], jobs[1]));
}

TEST_F(FrameQueueTest, AdmitsThoseWhoWaitFirstComeFirstServed) {
  FrameQueue queue(Frames(1));
  FrameFlow a, b, c;
  const auto jobs = NewJobs(4);
  EXPECT_EQ(queue.Push(&a, jobs[0], WhenFull::kWait), Admission::kQueued);
  EXPECT_EQ(queue.Push(&b, jobs[1], WhenFull::kWait), Admission::kWaiting);
  EXPECT_EQ(queue.Push(&c, jobs[2], WhenFull::kWait), Admission::kWaiting);
  EXPECT_EQ(queue.size(), 1);
  EXPECT_THAT(sink_.admitted, IsEmpty());
  EXPECT_EQ(queue.Pop(), jobs[0]);
  EXPECT_THAT(sink_.admitted, ElementsAre(jobs[1]));
  // The room went to the waiter: it is full for everyone else.
  EXPECT_EQ(queue.Push(&a, jobs[3], WhenFull::kReject), Admission::kRejected);
  EXPECT_EQ(queue.Pop(), jobs[1]);
  EXPECT_EQ(queue.Pop(), jobs[2]);
  EXPECT_THAT(sink_.admitted, ElementsAre(jobs[1], jobs[2]));
  EXPECT_EQ(queue.size(), 0);
}

TEST_F(FrameQueueTest, RemoveTakesQueuedAndWaitingJobsAndAdmitsOthers) {
  FrameQueue queue(Frames(2));
  FrameFlow leaving, staying;
  const auto x = NewJobs(3), y = NewJobs(1);
  queue.Push(&leaving, x[0], WhenFull::kWait);
  queue.Push(&leaving, x[1], WhenFull::kWait);
  queue.Push(&leaving, x[2], WhenFull::kWait);
  EXPECT_EQ(queue.Push(&staying, y[0], WhenFull::kWait), Admission::kWaiting);
  EXPECT_THAT(Drain(queue.Remove(&leaving)), ElementsAreArray(x));
  EXPECT_THAT(sink_.admitted, ElementsAre(y[0]));
  EXPECT_THAT(Drain(queue.Remove(&leaving)), IsEmpty());
  EXPECT_THAT(CloseAndPopAll(&queue), ElementsAre(y[0]));
}

TEST_F(FrameQueueTest, RemoveKeepsTheRoundOfTheOthers) {
  FrameQueue queue(Frames(8));
  FrameFlow a, b, c;
  const auto jobs = NewJobs(3);
  queue.Push(&a, jobs[0], WhenFull::kReject);
  queue.Push(&b, jobs[1], WhenFull::kReject);
  queue.Push(&c, jobs[2], WhenFull::kReject);
  queue.Remove(&c);  // the end of the ring
  queue.Remove(&a);  // its beginning
  EXPECT_EQ(queue.Pop(), jobs[1]);
  EXPECT_EQ(queue.size(), 0);
}

TEST_F(FrameQueueTest, IsClosedToNewJobsAndHandsOutTheRest) {
  FrameQueue queue(Frames(2));
  FrameFlow flow;
  const auto jobs = NewJobs(2);
  queue.Push(&flow, jobs[0], WhenFull::kWait);
  queue.Close();
  EXPECT_EQ(queue.Push(&flow, jobs[1], WhenFull::kWait), Admission::kClosed);
  EXPECT_EQ(queue.Pop(), jobs[0]);
  EXPECT_EQ(queue.Pop(), nullptr);
}

TEST_F(FrameQueueTest, GivesFlowsTheSameShareOfTime) {
  constexpr int64_t k4K = 33'200'000, kHd = 8'300'000, kVga = 1'230'000;
  FrameQueue queue(Frames(4096));
  FrameFlow flows[3];
  const int64_t lane_ns[3] = {k4K, kHd, kVga};
  const int frames[3] = {20, 80, 600};
  for (int f = 0; f < 3; ++f) {
    for (FrameJob* job : NewJobs(frames[f])) queue.Push(&flows[f], job, WhenFull::kReject);
  }
  // As long as all of them have frames waiting, no flow is ahead of another by more than a long frame.
  int64_t served[3] = {};
  for (int left[3] = {20, 80, 600}; left[0] > 0 && left[1] > 0 && left[2] > 0;) {
    const FrameJob* const job = queue.Pop();
    const auto f = static_cast<size_t>(job->in_queue.flow - flows);
    queue.Finished(*job, lane_ns[f]);
    served[f] += lane_ns[f];
    --left[f];
    for (const int64_t other : served) ASSERT_LE(std::abs(served[f] - other), k4K);
  }
  EXPECT_GT(served[0], 15 * k4K);
  CloseAndPopAll(&queue);
}

TEST_F(FrameQueueTest, AFloodOfLargeFramesDelaysASmallOneByOneOfThem) {
  FrameQueue queue(Frames(64));
  FrameFlow flood, camera;
  for (FrameJob* job : NewJobs(30)) {
    job->pixels = 3840 * 2160;
    queue.Push(&flood, job, WhenFull::kReject);
  }
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(queue.Pop()->in_queue.flow, &flood);
    FrameJob* const small = NewJob();
    small->pixels = 640 * 480;
    queue.Push(&camera, small, WhenFull::kReject);
    EXPECT_EQ(queue.Pop(), small);
  }
  CloseAndPopAll(&queue);
}

TEST_F(FrameQueueTest, ChargesTheTimeThatAFrameTook) {
  constexpr int64_t kRawNs = 1'000'000;
  FrameQueue queue(Frames(64));
  FrameFlow encoded, raw;
  for (FrameJob* job : NewJobs(3)) {
    job->pixels = 1000;  // a guess by the file's size
    queue.Push(&encoded, job, WhenFull::kReject);
  }
  for (FrameJob* job : NewJobs(30)) {
    job->pixels = 640 * 480;
    queue.Push(&raw, job, WhenFull::kReject);
  }
  FrameJob* const first = queue.Pop();
  ASSERT_EQ(first->in_queue.flow, &encoded);
  queue.Finished(*first, 10 * kRawNs);
  for (int i = 0; i < 10; ++i) {
    const FrameJob* const job = queue.Pop();
    EXPECT_EQ(job->in_queue.flow, &raw) << i;
    queue.Finished(*job, kRawNs);
  }
  EXPECT_EQ(queue.Pop()->in_queue.flow, &encoded);
  CloseAndPopAll(&queue);
}

TEST_F(FrameQueueTest, CancelledAndExpiredFramesCostNothing) {
  FrameQueue queue(Frames(8));
  FrameFlow a, b;
  const auto x = NewJobs(3), y = NewJobs(1);
  for (FrameJob* job : x) job->pixels = 3840 * 2160;
  x[0]->expires_at_ns = 1;  // long ago
  x[1]->cancelled = true;
  for (FrameJob* job : x) queue.Push(&a, job, WhenFull::kReject);
  queue.Push(&b, y[0], WhenFull::kReject);
  EXPECT_THAT(CloseAndPopAll(&queue), ElementsAre(x[0], x[1], x[2], y[0]));  // a flow with a cost waits for the other
}

std::atomic<int64_t> fake_now{0};

// Two lanes, to which the clock is `fake_now`.
FrameQueue::Limits TwoLanesOfTheFakeClock() {
  FrameQueue::Limits limits = Frames(64, 2);
  limits.clock = [] { return fake_now.load(); };
  fake_now = 1'000'000'000'000;
  return limits;
}

// What counts is the time that frames took before: these are all of one size.
TEST_F(FrameQueueTest, KeepsTheLastIdleLaneFromMuchLongerFrames) {
  FrameQueue queue(TwoLanesOfTheFakeClock());
  FrameFlow matches, camera;
  const auto run = [&](FrameFlow* flow, int64_t lane_ns) {
    queue.Push(flow, NewJob(), WhenFull::kReject);
    queue.Finished(*queue.Pop(), lane_ns);
  };
  run(&matches, 50'000'000);  // nothing else came in the past second
  for (int i = 0; i < FrameQueue::kSteadyFrames; ++i) run(&camera, 2'000'000);
  FrameJob* const longer = NewJob();
  FrameJob* const shorter = NewJob();
  queue.Push(&matches, longer, WhenFull::kReject);
  std::atomic<FrameJob*> popped{nullptr};
  std::thread lane([&] { popped = queue.Pop(); });
  while (queue.idle_lanes() == 0) std::this_thread::yield();
  EXPECT_EQ(popped, nullptr);
  queue.Push(&camera, shorter, WhenFull::kReject);
  lane.join();
  EXPECT_EQ(popped, shorter);
  // When the camera has been silent for a second, a lane that is alone takes what there is.
  fake_now += 1'000'000'000;
  EXPECT_EQ(queue.Pop(), longer);
}

// A frame of a steady stream that took a hundred times as long once does not cost the stream its lane.
TEST_F(FrameQueueTest, KeepsNoLaneFromAStreamThatWasDelayedOnce) {
  FrameQueue queue(TwoLanesOfTheFakeClock());
  FrameFlow camera;
  for (int i = 0; i < 10; ++i) {
    queue.Push(&camera, NewJob(), WhenFull::kReject);
    queue.Finished(*queue.Pop(), i == 9 ? 200'000'000 : 2'000'000);
  }
  FrameJob* const next = NewJob();
  queue.Push(&camera, next, WhenFull::kReject);
  FrameJob* popped = nullptr;
  std::thread lane([&] { popped = queue.Pop(); });
  while (queue.size() > 0 && queue.idle_lanes() == 0) std::this_thread::yield();
  EXPECT_EQ(queue.size(), 0);
  queue.Close();  // lets a lane go that was kept waiting
  lane.join();
  EXPECT_EQ(popped, next);
  EXPECT_EQ(queue.Pop(), nullptr);
}

// A stream of a client without any past frame is expected to take what the client's others took, and the first stream
// of a client what other clients' took. Other kinds of work are not.
TEST_F(FrameQueueTest, ANewStreamIsExpectedToTakeWhatOthersOfItsKindTook) {
  FlowGroup known, stranger;
  const auto first_of = [&](FlowGroup* group, size_t kind) {
    FrameQueue queue(TwoLanesOfTheFakeClock());
    FrameFlow matches(&known), camera, fresh(group);
    FrameJob* const match = NewJob();
    match->kind = 3;
    queue.Push(&matches, match, WhenFull::kReject);
    queue.Finished(*queue.Pop(), 50'000'000);
    for (int i = 0; i < FrameQueue::kSteadyFrames; ++i) {
      queue.Push(&camera, NewJob(), WhenFull::kReject);
      queue.Finished(*queue.Pop(), 2'000'000);
    }
    FrameJob* const job = NewJob();
    job->kind = kind;
    queue.Push(&fresh, job, WhenFull::kReject);
    std::atomic<FrameJob*> popped{nullptr};
    std::thread lane([&] { popped = queue.Pop(); });
    while (queue.idle_lanes() == 0 && popped == nullptr) std::this_thread::yield();
    queue.Push(&camera, NewJob(), WhenFull::kReject);
    lane.join();
    CloseAndPopAll(&queue);
    return popped == job ? "fresh" : "camera";
  };
  EXPECT_STREQ(first_of(&known, 3), "camera");
  EXPECT_STREQ(first_of(&stranger, 3), "camera");
  EXPECT_STREQ(first_of(&stranger, 0), "fresh");
  EXPECT_STREQ(first_of(&stranger, 5), "fresh");
}

// With two lanes, one is kept for a steady flow of small frames: while nothing but large ones wait, it is idle.
TEST_F(FrameQueueTest, KeepsTheLastIdleLaneFromMuchLargerFrames) {
  FrameQueue queue(Frames(64, 2));
  FrameFlow flood, camera;
  for (int i = 0; i < FrameQueue::kSteadyFrames; ++i) {
    queue.Push(&camera, NewJob(), WhenFull::kReject);
    queue.Pop();
  }
  const auto large = NewJobs(2);
  for (FrameJob* job : large) {
    job->pixels = 3840 * 2160;
    queue.Push(&flood, job, WhenFull::kReject);
  }
  // Lanes: the second idles in Pop() while the first takes a large frame; then the second gets none.
  std::atomic<FrameJob*> first{nullptr}, second{nullptr};
  std::atomic<int> popped{0};
  const auto lane = [&](std::atomic<FrameJob*>* got) {
    *got = queue.Pop();
    ++popped;
  };
  FrameJob* const small = NewJob();
  std::thread one(lane, &first);
  std::thread two(lane, &second);
  // Whichever lane comes alone waits; both together start one large frame, and the other lane waits.
  while (popped < 1) std::this_thread::yield();
  EXPECT_EQ(queue.size(), 1);
  queue.Push(&camera, small, WhenFull::kReject);
  one.join();
  two.join();
  EXPECT_THAT((std::vector<FrameJob*>{first, second}), ::testing::UnorderedElementsAre(large[0], small));
  // When the camera has been silent for a second, a lane that is alone takes what there is.
  EXPECT_EQ(queue.Pop(), large[1]);
}

TEST_F(FrameQueueTest, IsBoundedInBytesOfWaitingAndRunningFrames) {
  FrameQueue::Limits limits = Frames(8);
  limits.bytes = 100;
  FrameQueue queue(limits);
  FrameFlow a, b;
  const auto jobs = NewJobs(3);
  for (FrameJob* job : jobs) job->bytes = 40;
  EXPECT_EQ(queue.Push(&a, jobs[0], WhenFull::kReject), Admission::kQueued);
  EXPECT_EQ(queue.Push(&a, jobs[1], WhenFull::kReject), Admission::kQueued);
  EXPECT_EQ(queue.Push(&b, jobs[2], WhenFull::kReject), Admission::kRejected);
  EXPECT_EQ(queue.Push(&b, jobs[2], WhenFull::kWait), Admission::kWaiting);
  EXPECT_EQ(queue.bytes(), 80);
  EXPECT_EQ(queue.Pop(), jobs[0]);
  EXPECT_THAT(sink_.admitted, IsEmpty());  // the lane holds its bytes
  queue.Release(40, 1000);
  EXPECT_THAT(sink_.admitted, ElementsAre(jobs[2]));
  EXPECT_EQ(queue.bytes(), 80);
  CloseAndPopAll(&queue);
  queue.Release(40, 1000);
  queue.Release(40, 1000);
  EXPECT_EQ(queue.bytes(), 0);
}

// ---- Room goes to whoever came first.

FrameQueue::Limits Bytes(int64_t bytes) {
  FrameQueue::Limits limits = Frames(100);
  limits.bytes = bytes;
  return limits;
}

TEST_F(FrameQueueTest, SmallFramesDoNotStarveALargeOne) {
  FrameQueue queue(Bytes(100));
  FrameFlow small, large, other;
  const auto x = NewJobs(8);
  for (FrameJob* job : x) job->bytes = 40;
  FrameJob* const big = NewJob();
  big->bytes = 90;
  EXPECT_EQ(queue.Push(&small, x[0], WhenFull::kWait), Admission::kQueued);
  EXPECT_EQ(queue.Push(&large, big, WhenFull::kWait), Admission::kWaiting);
  // There would be room for it, but not for the one that waits.
  EXPECT_EQ(queue.Push(&other, x[1], WhenFull::kReject), Admission::kRejected);
  EXPECT_EQ(queue.Push(&other, x[1], WhenFull::kWait), Admission::kWaiting);
  EXPECT_EQ(queue.Pop(), x[0]);
  queue.Release(40, 1);
  EXPECT_THAT(sink_.admitted, ElementsAre(big));
  EXPECT_EQ(queue.Pop(), big);
  EXPECT_THAT(sink_.admitted, ElementsAre(big));
  queue.Release(90, 1);
  EXPECT_THAT(sink_.admitted, ElementsAre(big, x[1]));
  EXPECT_EQ(queue.Push(&small, x[2], WhenFull::kWait), Admission::kQueued);  // nobody waits any more
  EXPECT_THAT(CloseAndPopAll(&queue), ElementsAre(x[1], x[2]));
}

TEST_F(FrameQueueTest, ANewestFrameHasTheRoomThatItsFlowMadeAndNoOther) {
  FrameQueue queue(Bytes(100));
  FrameFlow live, large, late;
  const auto x = NewJobs(5);
  for (FrameJob* job : x) job->bytes = 40;
  x[2]->bytes = 50;
  FrameJob* const big = NewJob();
  big->bytes = 90;
  FrameList displaced;
  EXPECT_EQ(queue.PushNewest(&live, x[0], 0, false, &displaced), Admission::kQueued);
  EXPECT_EQ(queue.Push(&large, big, WhenFull::kWait), Admission::kWaiting);
  EXPECT_EQ(queue.PushNewest(&live, x[1], 1, false, &displaced), Admission::kQueued);  // in place of x[0]
  EXPECT_EQ(queue.PushNewest(&late, x[3], 0, false, &displaced), Admission::kWaiting);
  EXPECT_THAT(Drain(displaced), ElementsAre(x[0]));
  // A larger one needs more than its flow had.
  FrameList replaced;
  EXPECT_EQ(queue.PushNewest(&live, x[2], 1, false, &replaced), Admission::kWaiting);
  EXPECT_THAT(Drain(replaced), ElementsAre(x[1]));
  EXPECT_THAT(sink_.admitted, ElementsAre(big));
  EXPECT_EQ(queue.Pop(), big);
  queue.Release(90, 1);
  EXPECT_THAT(sink_.admitted, ElementsAre(big, x[3], x[2]));
  EXPECT_THAT(CloseAndPopAll(&queue), ElementsAre(x[3], x[2]));
}

// ---- The reserve, for small frames of clients that have no other.

// Of 200 bytes 80 are the reserve, in which a frame may have less than 20. Another client's frames fill the rest, and
// one more waits for room.
class ReserveTest : public FrameQueueTest {
 protected:
  explicit ReserveTest(int frames = 100) : queue_(WithReserve(frames)) {
    flood_.reserve(4);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(queue_.Push(flood_flow_, NewFlood(), WhenFull::kWait), Admission::kQueued);
    EXPECT_EQ(queue_.Push(flood_flow_, NewFlood(), WhenFull::kWait), Admission::kWaiting);
  }
  ~ReserveTest() override { CloseAndPopAll(&queue_); }
  static FrameQueue::Limits WithReserve(int frames) {
    FrameQueue::Limits limits = Frames(frames);
    limits.bytes = 200;
    limits.reserve = 80;
    return limits;
  }
  FrameJob* NewSized(int64_t bytes) {
    FrameJob* const job = NewJob();
    job->bytes = bytes;
    return job;
  }
  FrameJob* NewFlood() {
    flood_.push_back(NewSized(40));
    return flood_.back();
  }
  void Finish(FrameJob* job) {
    queue_.Finished(*job, 1);
    queue_.Release(job->bytes, 1, job->in_queue.reserved);
  }

  // Of a client of its own, or of `client_`.
  FrameFlow* NewFlow() { return &flows_.emplace_back(); }
  FrameFlow* NewFlowOfClient() { return &flows_.emplace_back(&client_); }

  FlowGroup client_;
  std::deque<FrameFlow> flows_;  // outlive the queue
  FrameFlow* const flood_flow_ = NewFlow();
  FrameQueue queue_;
  std::vector<FrameJob*> flood_;
};

TEST_F(ReserveTest, ASmallFrameOfAClientWithoutOthersEntersAFullQueue) {
  FrameFlow *const camera = NewFlowOfClient(), *const other = NewFlowOfClient();
  EXPECT_EQ(queue_.Push(camera, NewSized(20), WhenFull::kReject), Admission::kRejected);
  FrameJob* const first = NewSized(19);
  EXPECT_EQ(queue_.Push(camera, first, WhenFull::kReject), Admission::kQueued);
  EXPECT_EQ(queue_.bytes(), 3 * 40 + 19);
  EXPECT_EQ(queue_.size(), 4);
  // It has one now, in the queue and then on a lane.
  FrameJob* const second = NewSized(19);
  EXPECT_EQ(queue_.Push(other, second, WhenFull::kReject), Admission::kRejected);
  EXPECT_EQ(queue_.Pop(), flood_[0]);
  EXPECT_EQ(queue_.Pop(), first);
  EXPECT_EQ(queue_.Push(other, second, WhenFull::kReject), Admission::kRejected);
  EXPECT_EQ(queue_.Push(other, second, WhenFull::kWait), Admission::kWaiting);
  Finish(first);
  EXPECT_THAT(sink_.admitted, ElementsAre(second));
  EXPECT_EQ(queue_.bytes(), 3 * 40 + 19);
  EXPECT_EQ(queue_.Pop(), second);
  Finish(second);
  EXPECT_EQ(queue_.bytes(), 3 * 40);
  Finish(flood_[0]);
  EXPECT_THAT(sink_.admitted, ElementsAre(second, flood_[3]));
}

TEST_F(ReserveTest, IsBoundedAndTakesNothingFromOthers) {
  std::vector<FrameJob*> small;
  for (size_t i = 0; i < 6; ++i) {
    small.push_back(NewSized(19));
    EXPECT_EQ(queue_.Push(NewFlow(), small[i], WhenFull::kWait), i < 4 ? Admission::kQueued : Admission::kWaiting);
  }
  EXPECT_EQ(queue_.bytes(), 3 * 40 + 4 * 19);
  EXPECT_EQ(queue_.Pop(), flood_[0]);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(queue_.Pop(), small[i]);
  EXPECT_THAT(sink_.admitted, IsEmpty());  // lanes hold the bytes
  Finish(small[2]);
  EXPECT_THAT(sink_.admitted, ElementsAre(small[4]));
  // The rest goes by turns, as ever, to frames of any size: this one's client has none.
  Finish(flood_[0]);
  EXPECT_THAT(sink_.admitted, ElementsAre(small[4], small[5]));
  EXPECT_FALSE(small[5]->in_queue.reserved);
  FrameJob* const whole = NewSized(120);
  EXPECT_EQ(queue_.Push(NewFlow(), whole, WhenFull::kWait), Admission::kWaiting);
  queue_.Remove(flood_[3]);
  for (int i = 0; i < 4; ++i) {
    FrameJob* const job = queue_.Pop();
    if (!job->in_queue.reserved) Finish(job);
  }
  EXPECT_EQ(queue_.bytes(), 120 + 4 * 19);  // beside a full reserve
  EXPECT_EQ(queue_.Pop(), whole);
}

TEST_F(ReserveTest, TheNewestFrameKeepsIt) {
  FrameFlow *const live = NewFlowOfClient(), *const other = NewFlowOfClient();
  FrameJob *const x[] = {NewSized(19), NewSized(19), NewSized(20)}, *const y = NewSized(10);
  FrameList displaced;
  EXPECT_EQ(queue_.PushNewest(live, x[0], 100, false, &displaced), Admission::kQueued);
  EXPECT_EQ(queue_.PushNewest(live, x[1], 100, false, &displaced), Admission::kQueued);
  EXPECT_EQ(queue_.bytes(), 3 * 40 + 19);
  EXPECT_EQ(queue_.Push(other, y, WhenFull::kWait), Admission::kWaiting);
  EXPECT_EQ(queue_.PushNewest(live, x[2], 100, false, &displaced), Admission::kWaiting);  // it is too large
  EXPECT_THAT(Drain(displaced), ElementsAre(x[0], x[1]));
  EXPECT_THAT(sink_.admitted, ElementsAre(y));
}

TEST_F(ReserveTest, TheNewestFrameOfItTakesNoRoomThatOthersWaitFor) {
  for (int i : {3, 2}) queue_.Remove(flood_[static_cast<size_t>(i)]);
  EXPECT_EQ(queue_.Push(NewFlow(), NewSized(60), WhenFull::kWait), Admission::kWaiting);  // for 20 more than there are
  FrameFlow* const live = NewFlowOfClient();
  FrameJob *const first = NewSized(19), *const second = NewSized(19);
  FrameList displaced;
  EXPECT_EQ(queue_.PushNewest(live, first, 100, false, &displaced), Admission::kQueued);
  EXPECT_EQ(queue_.PushNewest(live, second, 100, false, &displaced), Admission::kQueued);
  EXPECT_TRUE(first->in_queue.reserved);
  EXPECT_TRUE(second->in_queue.reserved);
}

// A client with a frame in the rest of the pool, too, which makes no difference to the stream whose frame is replaced.
TEST_F(ReserveTest, TheNewestFrameKeepsItBesideOthersOfItsClient) {
  FrameFlow *const live = NewFlowOfClient(), *const other = NewFlowOfClient();
  FrameJob *const x[] = {NewSized(19), NewSized(18)}, *const y = NewSized(30);
  FrameList displaced;
  EXPECT_EQ(queue_.PushNewest(live, x[0], 100, false, &displaced), Admission::kQueued);
  queue_.Remove(flood_flow_);
  EXPECT_EQ(queue_.Push(other, y, WhenFull::kReject), Admission::kQueued);
  for (FrameJob* job : {NewFlood(), NewFlood(), NewFlood()}) queue_.Push(flood_flow_, job, WhenFull::kWait);
  EXPECT_EQ(queue_.bytes(), 19 + 30 + 2 * 40);
  EXPECT_EQ(queue_.PushNewest(live, x[1], 100, false, &displaced), Admission::kQueued);
  EXPECT_THAT(Drain(displaced), ElementsAre(x[0]));
  EXPECT_EQ(queue_.bytes(), 18 + 30 + 2 * 40);
}

class FullReserveTest : public ReserveTest {
 protected:
  FullReserveTest() : ReserveTest(3) {}
};

TEST_F(FullReserveTest, FramesInItNeedNoPlaceInTheQueue) {
  queue_.Remove(flood_[3]);
  EXPECT_EQ(queue_.size(), queue_.limits().frames);
  FrameFlow *const camera = NewFlow(), *const large = NewFlow();
  EXPECT_EQ(queue_.Push(large, NewSized(30), WhenFull::kReject), Admission::kRejected);
  EXPECT_EQ(queue_.Push(camera, NewSized(19), WhenFull::kReject), Admission::kQueued);
  EXPECT_EQ(queue_.size(), 4);
  EXPECT_EQ(queue_.Pop(), flood_[0]);
  Finish(flood_[0]);
  EXPECT_EQ(queue_.Push(large, NewSized(30), WhenFull::kReject), Admission::kQueued);  // and take none
}

TEST(ReserveOfTest, LeavesRoomForTheLargestFrame) {
  EXPECT_EQ(FrameQueue::ReserveOf(64, 13), 8);
  EXPECT_EQ(FrameQueue::ReserveOf(64, 56), 8);
  EXPECT_EQ(FrameQueue::ReserveOf(64, 60), 4);
  EXPECT_EQ(FrameQueue::ReserveOf(64, 64), 0);
  FrameQueue queue(Bytes(64));
  FrameFlow a, b;
  FrameJob jobs[2];
  jobs[0].bytes = 64;
  EXPECT_EQ(queue.Push(&a, &jobs[0], WhenFull::kReject), Admission::kQueued);
  EXPECT_EQ(queue.Push(&b, &jobs[1], WhenFull::kReject), Admission::kQueued);  // of no bytes
  queue.Remove(&b);
  jobs[1].bytes = 1;
  EXPECT_EQ(queue.Push(&b, &jobs[1], WhenFull::kReject), Admission::kRejected);
  queue.Remove(&a);
}

TEST_F(FrameQueueTest, AnUrgentFlowNeitherWaitsForRoomNorForItsTurn) {
  FrameQueue queue(Frames(1, 2));
  FrameFlow crowd, urgent;
  urgent.MakeUrgent();
  const auto x = NewJobs(2), u = NewJobs(3);
  EXPECT_EQ(queue.Push(&crowd, x[0], WhenFull::kWait), Admission::kQueued);
  EXPECT_EQ(queue.Push(&crowd, x[1], WhenFull::kWait), Admission::kWaiting);
  for (FrameJob* job : u) EXPECT_EQ(queue.Push(&urgent, job, WhenFull::kWait), Admission::kQueued);
  EXPECT_EQ(queue.size(), 4);
  EXPECT_EQ(queue.Pop(), u[0]);
  EXPECT_TRUE(queue.Remove(u[1]));
  EXPECT_THAT(Drain(queue.Remove(&urgent)), ElementsAre(u[2]));
  EXPECT_FALSE(queue.Remove(u[2]));
  EXPECT_EQ(queue.size(), 1);
  EXPECT_EQ(queue.Pop(), x[0]);
  EXPECT_EQ(queue.Pop(), x[1]);
}

class NewestTest : public FrameQueueTest {
 protected:
  Admission Push(FrameQueue* queue, FrameFlow* flow, FrameJob* job, int displace, bool must = false) {
    FrameList displaced;
    const Admission admission = queue->PushNewest(flow, job, displace, must, &displaced);
    displaced_ = Drain(displaced);
    return admission;
  }
  std::vector<FrameJob*> displaced_;
};

TEST_F(NewestTest, DisplacesTheOldest) {
  FrameQueue queue(Frames(8));
  FrameFlow flow;
  const auto x = NewJobs(5);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Push(&queue, &flow, x[static_cast<size_t>(i)], 0), Admission::kQueued);
  EXPECT_EQ(Push(&queue, &flow, x[3], 1, true), Admission::kQueued);
  EXPECT_THAT(displaced_, ElementsAre(x[0]));
  EXPECT_EQ(Push(&queue, &flow, x[4], 100), Admission::kQueued);
  EXPECT_THAT(displaced_, ElementsAre(x[1], x[2], x[3]));
  EXPECT_THAT(CloseAndPopAll(&queue), ElementsAre(x[4]));
}

TEST_F(NewestTest, IsRefusedWhereItMustDisplaceAndCannot) {
  FrameQueue queue(Frames(8));
  FrameFlow flow;
  const auto x = NewJobs(1);
  EXPECT_EQ(Push(&queue, &flow, x[0], 1, true), Admission::kRejected);
  EXPECT_EQ(queue.size(), 0);
}

TEST_F(NewestTest, KeepsItsTurnHoweverOftenItIsReplaced) {
  FrameQueue queue(Frames(8));
  FrameFlow live, a, b;
  const auto x = NewJobs(4), y = NewJobs(2);
  Push(&queue, &live, x[0], 1);
  queue.Push(&a, y[0], WhenFull::kReject);
  queue.Push(&b, y[1], WhenFull::kReject);
  for (size_t i = 1; i < 4; ++i) Push(&queue, &live, x[i], 1);
  EXPECT_THAT(CloseAndPopAll(&queue), ElementsAre(x[3], y[0], y[1]));
}

TEST_F(NewestTest, DisplacesItsOwnWhenTheQueueIsFull) {
  FrameQueue queue(Frames(2));
  FrameFlow live, other;
  const auto x = NewJobs(2), y = NewJobs(1);
  Push(&queue, &live, x[0], 0);
  queue.Push(&other, y[0], WhenFull::kReject);
  EXPECT_EQ(Push(&queue, &live, x[1], 0), Admission::kQueued);
  EXPECT_THAT(displaced_, ElementsAre(x[0]));
  EXPECT_EQ(queue.size(), 2);
  CloseAndPopAll(&queue);
}

TEST_F(NewestTest, KeepsItsPlaceOutsideAFullQueue) {
  FrameQueue queue(Frames(1));
  FrameFlow taker, live, other;
  const auto t = NewJobs(1), x = NewJobs(2), y = NewJobs(1);
  queue.Push(&taker, t[0], WhenFull::kReject);
  EXPECT_EQ(Push(&queue, &live, x[0], 0), Admission::kWaiting);
  EXPECT_EQ(queue.Push(&other, y[0], WhenFull::kWait), Admission::kWaiting);
  EXPECT_EQ(Push(&queue, &live, x[1], 1, true), Admission::kWaiting);
  EXPECT_THAT(displaced_, ElementsAre(x[0]));
  EXPECT_EQ(queue.Pop(), t[0]);
  EXPECT_THAT(sink_.admitted, ElementsAre(x[1]));
  EXPECT_EQ(queue.Pop(), x[1]);
  EXPECT_EQ(queue.Pop(), y[0]);
}

TEST_F(NewestTest, OneJobCanBeTakenBackUntilItIsPopped) {
  FrameQueue queue(Frames(2));
  FrameFlow flow;
  const auto x = NewJobs(3);
  for (FrameJob* job : x) queue.Push(&flow, job, WhenFull::kWait);
  EXPECT_TRUE(queue.Remove(x[1]));
  EXPECT_THAT(sink_.admitted, ElementsAre(x[2]));
  EXPECT_EQ(queue.Pop(), x[0]);
  EXPECT_FALSE(queue.Remove(x[0]));
  EXPECT_TRUE(queue.Remove(x[2]));
  EXPECT_EQ(queue.size(), 0);
}

// Every job comes out once, whoever pushes, pops and removes at the same time.
TEST_F(FrameQueueTest, LosesAndDoublesNothingUnderContention) {
  constexpr int kFlows = 4, kPoppers = 3, kJobs = 2000;
  struct Producer : FrameSink {
    void OnFrameAdmitted(FrameJob*) override { waiting = false; }
    void OnFrameDone(FrameJob*) override {}
    std::atomic<bool> waiting{false};
    FrameFlow flow;
    std::vector<FrameJob> jobs{kJobs};
  };
  FrameQueue::Limits limits = Frames(3);
  limits.bytes = 100;
  limits.reserve = 20;
  FrameQueue queue(limits);
  std::vector<Producer> producers(kFlows);
  std::atomic<int> came_out{0};
  std::vector<std::thread> poppers, pushers;
  for (int i = 0; i < kPoppers; ++i) {
    poppers.emplace_back([&] {
      while (FrameJob* job = queue.Pop()) {
        EXPECT_FALSE(job->cancelled.exchange(true)) << "twice";
        EXPECT_LE(queue.bytes(), limits.bytes);
        queue.Finished(*job, 1);
        queue.Release(job->bytes, 1, job->in_queue.reserved);
        ++came_out;
      }
    });
  }
  for (Producer& p : producers) {
    pushers.emplace_back([&] {
      for (int i = 0; i < kJobs; ++i) {
        p.jobs[static_cast<size_t>(i)].sink = &p;
        p.jobs[static_cast<size_t>(i)].bytes = i % 3 == 0 ? 40 : 4;  // alone, the latter may be of the reserve
        p.waiting = true;
        if (queue.Push(&p.flow, &p.jobs[static_cast<size_t>(i)], WhenFull::kWait) == Admission::kQueued) {
          p.waiting = false;
        }
        if (i % 7 == 0) {
          for (FrameJob* job : Drain(queue.Remove(&p.flow))) {
            EXPECT_FALSE(job->cancelled.exchange(true)) << "twice";
            ++came_out;
            if (job == &p.jobs[static_cast<size_t>(i)]) p.waiting = false;
          }
        }
        while (p.waiting) std::this_thread::yield();
      }
    });
  }
  for (std::thread& thread : pushers) thread.join();
  queue.Close();
  for (std::thread& thread : poppers) thread.join();
  EXPECT_EQ(came_out, kFlows * kJobs);
  EXPECT_EQ(queue.size(), 0);
  EXPECT_EQ(queue.bytes(), 0);
}

// Lanes that wait in Pop(), each on a thread of its own. They sit down in the order of their numbers.
class WaitingLanes {
 public:
  WaitingLanes(FrameQueue* queue, int count) : queue_(queue), lanes_(static_cast<size_t>(count)) {
    for (int i = 0; i < count; ++i) Wait(i);
  }
  ~WaitingLanes() {
    queue_->Close();
    for (One& lane : lanes_) {
      if (lane.thread.joinable()) lane.thread.join();
    }
  }

  // Lane `number` has done with its frame and waits for the next one.
  void Wait(int number) {
    One* const lane = &lanes_[static_cast<size_t>(number)];
    if (lane->thread.joinable()) lane->thread.join();
    lane->job = nullptr;
    const int idle = queue_->idle_lanes();
    lane->thread = std::thread([this, lane] { lane->job = queue_->Pop(&lane->waiter); });
    while (queue_->idle_lanes() == idle) std::this_thread::yield();
  }
  // The lane that gets `job`.
  int Push(FrameFlow* flow, FrameJob* job) {
    EXPECT_EQ(queue_->Push(flow, job, WhenFull::kReject), Admission::kQueued);
    for (;; std::this_thread::yield()) {
      for (size_t i = 0; i < lanes_.size(); ++i) {
        if (lanes_[i].job == job) return static_cast<int>(i);
      }
    }
  }

 private:
  struct One {
    LaneWaiter waiter;
    std::thread thread;
    std::atomic<FrameJob*> job{nullptr};
  };
  FrameQueue* const queue_;
  std::deque<One> lanes_;
};

TEST_F(FrameQueueTest, TheLaneThatWorkedLastGetsTheNextFrame) {
  FrameQueue queue(Frames(8, 3));
  FrameFlow flows[8];
  const auto jobs = NewJobs(8);
  WaitingLanes lanes(&queue, 3);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(lanes.Push(&flows[i], jobs[i]), 2) << i;
    lanes.Wait(2);
  }
  // Others join while it is busy.
  EXPECT_EQ(lanes.Push(&flows[4], jobs[4]), 2);
  EXPECT_EQ(lanes.Push(&flows[5], jobs[5]), 1);
  EXPECT_EQ(lanes.Push(&flows[6], jobs[6]), 0);
  lanes.Wait(2);
  lanes.Wait(0);
  EXPECT_EQ(lanes.Push(&flows[7], jobs[7]), 0);
}

TEST_F(FrameQueueTest, AStreamGoesBackToItsLane) {
  FrameQueue queue(Frames(8, 2));
  FrameFlow a, b;
  const auto jobs = NewJobs(5);
  WaitingLanes lanes(&queue, 2);
  EXPECT_EQ(lanes.Push(&a, jobs[0]), 1);
  EXPECT_EQ(lanes.Push(&b, jobs[1]), 0);
  lanes.Wait(1);
  lanes.Wait(0);  // now the one that worked last
  EXPECT_EQ(lanes.Push(&a, jobs[2]), 1);
  lanes.Wait(1);
  EXPECT_EQ(lanes.Push(&b, jobs[3]), 0);
  EXPECT_EQ(lanes.Push(&b, jobs[4]), 1);  // its lane is busy
}

// Lanes that look for frames get them as those that sleep do, and sleep in the end.
TEST_F(FrameQueueTest, SpinsForFramesThatKeepComing) {
  FrameQueue::Limits limits = Frames(8, 2);
  limits.max_spinning = 1;
  FrameQueue queue(limits);
  FrameFlow flow;
  const auto jobs = NewJobs(200);
  WaitingLanes lanes(&queue, 2);
  for (size_t i = 0; i < jobs.size(); ++i) {
    const int lane = lanes.Push(&flow, jobs[i]);
    lanes.Wait(lane);
    if (i % 50 == 49) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

TEST(SpinBudgetTest, SpinsWhileFramesKeepComing) {
  SpinBudget time;
  for (int i = 0; i < 2; ++i) time.FrameCameAfter(20'000);
  EXPECT_EQ(time.LimitNs(), 0);
  for (int i = 0; i < 20; ++i) time.FrameCameAfter(20'000);
  EXPECT_GE(time.LimitNs(), 50'000);
  EXPECT_LE(time.LimitNs(), 100'000);
  for (int i = 0; i < 20; ++i) time.FrameCameAfter(400'000);
  EXPECT_EQ(time.LimitNs(), SpinBudget::kMostNs);
  // A camera of 30 frames/s.
  for (int i = 0; i < 2; ++i) time.FrameCameAfter(33'000'000);
  EXPECT_EQ(time.LimitNs(), 0);
  for (int i = 0; i < 3; ++i) time.FrameCameAfter(0);
  EXPECT_GT(time.LimitNs(), 0);
}

Session NewSession(OverloadPolicy policy, int max_in_flight) {
  Session session;
  SessionOptions options;
  options.policy = policy;
  options.max_in_flight = max_in_flight;
  session.Configure(options);
  return session;
}

TEST_F(FrameQueueTest, SerialFlowsHaveOneFrameOnALane) {
  FrameQueue queue(Frames(8, 2));
  FrameFlow serial, other;
  serial.MakeSerial();
  const auto jobs = NewJobs(4);
  for (size_t i : {0, 1, 2}) queue.Push(&serial, jobs[i], WhenFull::kReject);
  EXPECT_EQ(queue.Pop(), jobs[0]);
  queue.Push(&other, jobs[3], WhenFull::kReject);
  EXPECT_EQ(queue.Pop(), jobs[3]);  // not the next of the serial one
  queue.Finished(*jobs[3], 1000);
  std::atomic<FrameJob*> popped{nullptr};
  std::thread lane([&] { popped = queue.Pop(); });
  EXPECT_EQ(queue.size(), 2);
  EXPECT_EQ(popped, nullptr);
  queue.Finished(*jobs[0], 1000);
  lane.join();
  EXPECT_EQ(popped, jobs[1]);
  // Frames that come or go meanwhile neither start it nor get lost.
  const auto more = NewJobs(2);
  FrameList displaced;
  EXPECT_EQ(queue.PushNewest(&serial, more[0], 1, false, &displaced), Admission::kQueued);
  EXPECT_THAT(Drain(displaced), ElementsAre(jobs[2]));
  queue.Push(&serial, more[1], WhenFull::kReject);
  EXPECT_TRUE(queue.Remove(more[0]));
  queue.Finished(*jobs[1], 1000);
  EXPECT_EQ(queue.Pop(), more[1]);
  EXPECT_THAT(CloseAndPopAll(&queue), IsEmpty());
  queue.Finished(*more[1], 1000);
}

TEST_F(FrameQueueTest, SerialFlowsEndWithTheQueue) {
  FrameQueue queue(Frames(8));
  FrameFlow serial;
  serial.MakeSerial();
  const auto jobs = NewJobs(2);
  for (FrameJob* job : jobs) queue.Push(&serial, job, WhenFull::kReject);
  EXPECT_EQ(queue.Pop(), jobs[0]);
  queue.Close();
  queue.Finished(*jobs[0], 1000);  // the lane that had it comes back for the next one
  EXPECT_EQ(queue.Pop(), jobs[1]);
  queue.Finished(*jobs[1], 1000);
  EXPECT_EQ(queue.Pop(), nullptr);
}

TEST(SessionTest, RepliesInTheOrderOfArrival) {
  Session session = NewSession(OverloadPolicy::kBlock, 3);
  std::deque<FrameJob> jobs(3);
  EXPECT_TRUE(session.empty());
  for (FrameJob& job : jobs) session.Add(&job);
  EXPECT_TRUE(session.full());
  jobs[1].in_session.done = true;
  EXPECT_EQ(session.NextReply(), nullptr);
  jobs[0].in_session.done = true;
  EXPECT_EQ(session.NextReply(), &jobs[0]);
  session.PopFront();
  EXPECT_EQ(session.NextReply(), &jobs[1]);
  session.PopFront();
  EXPECT_EQ(session.NextReply(), nullptr);
  // Around the ring, and Add() forgets what a reused job was.
  jobs[0].in_session.done = true;
  session.Add(&jobs[0]);
  jobs[2].in_session.done = true;
  session.PopFront();
  EXPECT_EQ(session.NextReply(), nullptr);
  session.CancelAll();
  EXPECT_TRUE(jobs[0].cancelled);
  EXPECT_FALSE(jobs[1].cancelled);
}

TEST(SessionTest, DroppedAndHeldFramesLeaveRoomForOthers) {
  Session session = NewSession(OverloadPolicy::kLatest, 1);
  std::deque<FrameJob> jobs(Session::kDroppedReplies + 1);
  session.Add(&jobs[0]);
  EXPECT_FALSE(session.overloaded());
  session.Add(&jobs[1]);
  EXPECT_TRUE(session.overloaded());
  session.Hold(&jobs[1]);
  EXPECT_FALSE(session.overloaded());
  EXPECT_EQ(session.TakeHeld(), nullptr);  // no room yet
  session.Drop(session.held(), DropReason::kSuperseded, absl::AbortedError("late"));
  EXPECT_EQ(session.held(), nullptr);
  EXPECT_TRUE(jobs[1].in_session.done);
  session.Add(&jobs[2]);
  session.Hold(&jobs[2]);
  // Replies that no one takes fill the window in the end.
  for (size_t i = 3; i < jobs.size(); ++i) {
    ASSERT_FALSE(session.full());
    session.Add(&jobs[i]);
    session.Drop(&jobs[i], DropReason::kRejected, absl::ResourceExhaustedError("full"));
  }
  EXPECT_TRUE(session.full());
  jobs[0].in_session.done = true;
  ASSERT_EQ(session.NextReply(), &jobs[0]);
  session.PopFront();
  EXPECT_EQ(session.NextReply(), &jobs[1]);
  EXPECT_EQ(session.TakeHeld(), &jobs[2]);
  session.PopFront();  // a dropped one: the other is still live
  EXPECT_EQ(session.TakeHeld(), nullptr);
  session.Add(&jobs[0]);
  EXPECT_TRUE(session.overloaded());
}

// Else a held frame would wait for a reply that comes after its own.
TEST(SessionTest, FramesThatFailedAtOnceLeaveRoomForHeldOnes) {
  Session session = NewSession(OverloadPolicy::kLatest, 1);
  std::deque<FrameJob> jobs(3);
  session.Add(&jobs[0]);
  session.Add(&jobs[1]);
  session.Hold(&jobs[1]);
  session.Add(&jobs[2], true);
  EXPECT_TRUE(jobs[2].in_session.done);
  jobs[0].in_session.done = true;
  session.PopFront();
  EXPECT_EQ(session.NextReply(), nullptr);
  EXPECT_EQ(session.TakeHeld(), &jobs[1]);
  jobs[1].in_session.done = true;
  session.PopFront();
  EXPECT_EQ(session.NextReply(), &jobs[2]);
}

TEST(StreamMaskTest, KeepsItsOwnBytes) {
  std::vector<uint8_t> bytes(12, 255);
  ImageSource source;
  source.kind = ImageSource::Kind::kRaw;
  source.raw = *decode::InspectRaw({1, 4, 3, 0}, bytes.size(), 100);
  const absl::Span<const uint8_t> piece = bytes;
  source.bytes = {&piece, 1};
  StreamMask mask(source);
  bytes.assign(12, 0);
  decode::Decoder decoder;
  const auto view = mask.View(&decoder, 100);
  ASSERT_TRUE(view.ok());
  EXPECT_EQ(view->shape(), (Shape{4, 3}));
  EXPECT_EQ(view->at(3, 2), 255);
}

// How often the kernel has taken the processor from a thread of this process, which happens when it waits.
int64_t SwitchesOf(pid_t thread) {
  std::ifstream status("/proc/self/task/" + std::to_string(thread) + "/status");
  int64_t switches = -1;
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("voluntary_ctxt_switches:", 0) == 0) switches = std::stoll(line.substr(line.find(':') + 1));
  }
  return switches;
}

// Finds the features of a small image.
class DetectWork final : public LaneWork {
 public:
  absl::Status Run(const LaneContext& context, FrameJob* job) override {
    Features* const features = context.scratch->Of<Features>();
    absl::Status status = context.lane->Run({}, Image(4, 4), {}, features, &job->times.stages);
    job->keypoints = features->count();
    return status;
  }
};

TEST(LaneScratchTest, KeepsOnePartOfEachType) {
  LaneScratch scratch;
  int* const number = scratch.Of<int>();
  *number = 3;
  EXPECT_TRUE(scratch.Of<std::string>()->empty());
  EXPECT_EQ(scratch.Of<int>(), number);
  EXPECT_EQ(*scratch.Of<int>(), 3);
}

// However fast frames came: a lane without any sleeps, and nothing wakes it.
TEST(LaneThreadsTest, SleepWhenFramesStopComing) {
  testing::LaneControl control;
  LaneOptions options;
  options.lanes = 2;
  LaneSet lanes = *testing::FakeLanes(&control)(options);
  FrameQueue::Limits limits = Frames(8, 2);
  limits.max_spinning = 2;
  FrameQueue queue(limits);
  LaneThreads::Events events;
  std::mutex mutex;
  std::vector<pid_t> threads;
  events.warm = [&] {
    std::lock_guard<std::mutex> lock(mutex);
    threads.push_back(static_cast<pid_t>(syscall(SYS_gettid)));
  };
  events.done = [](const FrameJob&) {};
  events.left = [](const std::string&, bool) {};
  events.lost = [](const absl::Status&, bool) {};
  events.busy = [](int, bool) {};
  struct Sink : FrameSink {
    void OnFrameAdmitted(FrameJob*) override {}
    void OnFrameDone(FrameJob*) override { ++done; }
    std::atomic<int> done{0};
  } sink;
  DetectWork work;
  FrameJob job;
  job.sink = &sink;
  job.work = &work;
  job.pixels = 16;
  FrameFlow flow;
  {
    LaneThreads lane_threads(&queue, &lanes, 100, events);
    ASSERT_TRUE(lane_threads.Make().ok());
    lane_threads.Begin();
    for (int i = 0; i < 100; ++i) {
      queue.Push(&flow, &job, WhenFull::kReject);
      while (sink.done <= i) std::this_thread::yield();
    }
    while (queue.idle_lanes() < 2) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(500));  // SpinBudget::kMostNs on a busy machine
    ASSERT_EQ(threads.size(), 2u);
    int64_t before[2];
    for (int i = 0; i < 2; ++i) before[i] = SwitchesOf(threads[static_cast<size_t>(i)]);
    EXPECT_GT(before[0], 0);
    std::this_thread::sleep_for(std::chrono::seconds(3));
    for (int i = 0; i < 2; ++i) EXPECT_EQ(SwitchesOf(threads[static_cast<size_t>(i)]), before[i]);
    queue.Close();
  }
}

TEST(LaneThreadsTest, ReportWarmUpsAndKeepGoingAfterErrors) {
  testing::LaneControl control;
  LaneOptions options;
  options.lanes = 2;
  LaneSet lanes = *testing::FakeLanes(&control)(options);
  FrameQueue queue(Frames(8));
  std::atomic<int> warm{0}, failures{0};
  LaneThreads::Events events;
  events.warm = [&] { ++warm; };
  std::atomic<int> left{0};
  events.done = [](const FrameJob&) {};
  events.left = [&](const std::string& device, bool was_warm) {
    EXPECT_EQ(device, "fake:0");
    EXPECT_TRUE(was_warm);
    ++left;
  };
  events.lost = [&](const absl::Status& why, bool last) {
    ++failures;
    EXPECT_TRUE(last);
    EXPECT_EQ(why.message().find("lane "), 0u) << why;
  };
  events.busy = [](int, bool) {};
  struct CountingSink : FrameSink {
    void OnFrameAdmitted(FrameJob*) override {}
    void OnFrameDone(FrameJob* job) override { ++(job->status.ok() && job->keypoints == 1u ? good : bad); }
    std::atomic<int> good{0}, bad{0};
  } sink;
  std::deque<FrameJob> jobs(4);
  DetectWork work;
  for (FrameJob& job : jobs) {
    job.sink = &sink;
    job.work = &work;
    job.pixels = 16;
  }
  jobs[3].cancelled = true;
  FrameFlow flow;
  {
    LaneThreads threads(&queue, &lanes, 100, events);
    ASSERT_TRUE(threads.Make().ok());
    threads.Begin();
    while (warm < 2) std::this_thread::yield();
    control.Fail(absl::ResourceExhaustedError("no memory"));
    queue.Push(&flow, &jobs[0], WhenFull::kReject);
    while (sink.bad < 1) std::this_thread::yield();
    EXPECT_EQ(jobs[0].status, absl::ResourceExhaustedError("no memory"));
    control.Fail(absl::OkStatus());
    queue.Push(&flow, &jobs[1], WhenFull::kReject);
    while (sink.good < 1) std::this_thread::yield();
    queue.Push(&flow, &jobs[3], WhenFull::kReject);
    while (sink.bad < 2) std::this_thread::yield();
    EXPECT_EQ(jobs[3].status.code(), absl::StatusCode::kCancelled);
    EXPECT_EQ(failures, 0);
    control.Fail(absl::InternalError("sticky"), absl::InternalError("sticky"));
    queue.Push(&flow, &jobs[2], WhenFull::kReject);
    while (failures < 1 || left < 1) std::this_thread::yield();
    // The other lane has left. The one that found out refuses what comes.
    while (sink.bad < 3) std::this_thread::yield();
    queue.Push(&flow, &jobs[0], WhenFull::kReject);
    while (sink.bad < 4) std::this_thread::yield();
    EXPECT_EQ(jobs[0].status.message(),
              "lane " + std::to_string(jobs[0].lane) + " on fake:0: the device is lost: sticky");
    queue.Close();
  }
  EXPECT_EQ(left, 2);
  EXPECT_EQ(control.runs(), 5);  // two warm-ups, three frames; not the cancelled one
}

// Sleeps; only the lane of its test runs it.
class SleepWork final : public LaneWork {
 public:
  explicit SleepWork(std::chrono::milliseconds time) : time_(time) {}
  absl::Status Run(const LaneContext&, FrameJob*) override {
    const int64_t start = MonotonicNs();
    std::this_thread::sleep_for(time_);
    const int64_t taken = MonotonicNs() - start;
    ++runs;
    lane_ns += taken;
    longest_ns = std::max(longest_ns, taken);
    return absl::OkStatus();
  }
  int runs = 0;
  int64_t lane_ns = 0, longest_ns = 0;

 private:
  const std::chrono::milliseconds time_;
};

// Frames of one nominal cost, some of which take twenty times as long: each stream is charged what its lane took.
TEST(LaneThreadsTest, ChargeTheTimeOfTheLane) {
  testing::LaneControl control;
  LaneOptions options;
  options.lanes = 1;
  LaneSet lanes = *testing::FakeLanes(&control)(options);
  FrameQueue queue(Frames(8));
  LaneThreads::Events events;
  events.warm = [] {};
  events.done = [](const FrameJob&) {};
  events.left = [](const std::string&, bool) {};
  events.lost = [](const absl::Status&, bool) {};
  events.busy = [](int, bool) {};
  SleepWork slow(std::chrono::milliseconds(20)), quick(std::chrono::milliseconds(1));
  FrameFlow slow_flow, quick_flow;
  struct Again : FrameSink {
    explicit Again(const std::function<void(FrameJob*)>& next) : next(next) {}
    void OnFrameAdmitted(FrameJob*) override {}
    void OnFrameDone(FrameJob* job) override { next(job); }
    const std::function<void(FrameJob*)> next;
  } sink([&](FrameJob* job) {
    if (slow.runs < 10) queue.Push(job->in_queue.flow, job, WhenFull::kReject);
    if (queue.size() == 0) queue.Close();
  });
  FrameJob jobs[4];
  for (size_t i = 0; i < 4; ++i) {
    jobs[i].sink = &sink;
    jobs[i].work = i < 2 ? &slow : &quick;
    queue.Push(i < 2 ? &slow_flow : &quick_flow, &jobs[i], WhenFull::kReject);
  }
  {
    LaneThreads threads(&queue, &lanes, 100, events);
    ASSERT_TRUE(threads.Make().ok());
    threads.Begin();
  }  // until the queue is closed
  EXPECT_GE(slow.runs, 10);
  EXPECT_LE(std::abs(slow.lane_ns - quick.lane_ns), 3 * std::max(slow.longest_ns, quick.longest_ns));
}

}  // namespace
}  // namespace glint
