// Lanes are shared between clients first and between a client's streams second, by the time that frames take on them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "server/schedule/frame_queue.h"

namespace glint {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using WhenFull = FrameQueue::WhenFull;

constexpr size_t kMany = 16;
constexpr int64_t kMs = 1'000'000;

int64_t now_ns = 0;

FrameQueue::Limits Frames(int frames) {
  FrameQueue::Limits limits;
  limits.frames = frames;
  limits.clock = [] { return now_ns; };
  return limits;
}

class AdmissionSink : public FrameSink {
 public:
  void OnFrameAdmitted(FrameJob* job) override { last_admitted = job; }
  void OnFrameDone(FrameJob*) override {}
  const FrameJob* last_admitted = nullptr;
};

// A client with one stream and a client with sixteen, all of which always have frames waiting. The clock is the test's.
class FairnessTest : public ::testing::Test {
 protected:
  FairnessTest() {
    one_.Join(&modest_);
    for (FrameFlow& flow : many_) flow.Join(&greedy_);
    now_ns = 1'000'000 * kMs;
  }
  // A frame that takes `lane_ns` on a lane, which is kept as its id. Its nominal cost says nothing of that.
  FrameJob* NewJob(int64_t lane_ns, int64_t pixels = 0) {
    jobs_.emplace_back();
    jobs_.back().sink = &sink_;
    jobs_.back().id = static_cast<uint64_t>(lane_ns);
    jobs_.back().pixels = pixels;
    return &jobs_.back();
  }
  static int64_t LaneNs(const FrameJob& job) { return static_cast<int64_t>(job.id); }
  void Push(FrameQueue* queue, FrameFlow* flow, int64_t lane_ns, int64_t pixels = 0) {
    queue->Push(flow, NewJob(lane_ns, pixels), WhenFull::kWait);
  }
  // A lane finishes the frame, which is counted.
  void Finish(FrameQueue* queue, FrameJob* job) {
    served_[job->in_queue.flow] += LaneNs(*job);
    queue->Finished(*job, LaneNs(*job));
    queue->Release(job->bytes, LaneNs(*job));
  }
  // Runs a frame, and lets its stream send it again.
  FrameFlow* Serve(FrameQueue* queue) {
    FrameJob* const job = queue->Pop();
    now_ns += LaneNs(*job);
    Finish(queue, job);
    FrameFlow* const flow = job->in_queue.flow;
    queue->Push(flow, job, WhenFull::kWait);
    return flow;
  }
  // The same on `lanes` lanes at once, for `length_ns`.
  void ServeOnLanes(FrameQueue* queue, size_t lanes, int64_t length_ns) {
    std::multimap<int64_t, FrameJob*> running;  // by end
    for (const int64_t end = now_ns + length_ns; now_ns < end;) {
      while (running.size() < lanes) {
        FrameJob* const job = queue->Pop();
        running.emplace(now_ns + LaneNs(*job), job);
      }
      FrameJob* const job = running.begin()->second;
      now_ns = running.begin()->first;
      running.erase(running.begin());
      Finish(queue, job);
      queue->Push(job->in_queue.flow, job, WhenFull::kWait);
    }
    for (const auto& [end, job] : running) Finish(queue, job);
  }
  int64_t OfTheMany() const {
    int64_t sum = 0;
    for (const FrameFlow& flow : many_) sum += served_.count(&flow) > 0 ? served_.at(&flow) : 0;
    return sum;
  }
  static double Ratio(int64_t a, int64_t b) { return static_cast<double>(a) / static_cast<double>(b); }
  void Empty(FrameQueue* queue) {
    queue->Remove(&one_);
    for (FrameFlow& flow : many_) queue->Remove(&flow);
  }

  AdmissionSink sink_;
  std::deque<FrameJob> jobs_;
  FlowGroup modest_, greedy_;
  FrameFlow one_;
  std::array<FrameFlow, kMany> many_;
  std::map<const FrameFlow*, int64_t> served_;
};

TEST_F(FairnessTest, ManyStreamsBuyNoMoreLanes) {
  FrameQueue queue(Frames(1000));
  for (int i = 0; i < 3; ++i) {
    Push(&queue, &one_, kMs);
    for (FrameFlow& flow : many_) Push(&queue, &flow, kMs);
  }
  for (int i = 0; i < 320; ++i) Serve(&queue);
  EXPECT_EQ(served_[&one_], 160 * kMs);
  // ... and they share what their client has.
  std::vector<int64_t> shares;
  for (const FrameFlow& flow : many_) shares.push_back(served_[&flow]);
  EXPECT_THAT(shares, Each(10 * kMs));
  Empty(&queue);
}

TEST_F(FairnessTest, SharesAreTimeWhateverTheSizesOfPictures) {
  for (const auto& [small, large] : {std::pair(&one_, &many_[0]), std::pair(&many_[0], &one_)}) {
    served_.clear();
    FrameQueue queue(Frames(1000));
    for (int i = 0; i < 20; ++i) {
      Push(&queue, small, kMs, 1'000'000);
      Push(&queue, large, 9 * kMs, 9'000'000);
      Push(&queue, &many_[1], 3 * kMs, 3'000'000);
    }
    for (int i = 0; i < 4000; ++i) Serve(&queue);
    EXPECT_NEAR(Ratio(served_[&one_], OfTheMany()), 1, 0.02);
    EXPECT_NEAR(Ratio(served_[&many_[1]], served_[&many_[0]]), 1, 0.02);
    Empty(&queue);
  }
}

TEST_F(FairnessTest, SharesAreTimeWhereAllFramesHaveOneNominalCost) {
  for (const size_t lanes : {1, 2, 4}) {
    served_.clear();
    FrameQueue queue(Frames(1000));
    for (size_t i = 0; i < 8; ++i) {
      Push(&queue, &one_, kMs, 307'200);
      Push(&queue, &many_[i % 4], 100 * kMs, 307'200);
    }
    ServeOnLanes(&queue, lanes, 20'000 * kMs);
    EXPECT_NEAR(Ratio(served_[&one_], OfTheMany()), 1, 0.03) << lanes << " lanes";
    Empty(&queue);
  }
}

// Nominal costs come from clients. Whatever they say, and however it changes, a client buys nothing by it.
TEST_F(FairnessTest, AClientThatLiesAboutItsFramesGainsNothing) {
  constexpr int64_t kHuge = 240'000'000;
  for (const std::vector<int64_t>& claims :
       {std::vector<int64_t>{0}, {kHuge}, {0, kHuge}, {kHuge, 0, 0, 0, 0, 0, 0, 0, 0, 0}}) {
    for (const size_t lanes : {1, 2}) {
      served_.clear();
      FrameQueue queue(Frames(1000));
      for (size_t i = 0; i < 20; ++i) {
        Push(&queue, &one_, 6 * kMs, 307'200);
        Push(&queue, &many_[i % 4], 50 * kMs, claims[i % claims.size()]);
      }
      ServeOnLanes(&queue, lanes, 20'000 * kMs);
      EXPECT_GT(Ratio(served_[&one_], OfTheMany()), 0.97) << claims.size() << " claims, " << lanes << " lanes";
      Empty(&queue);
    }
  }
}

// What a client's frame took beyond what was expected is its debt, in whatever stream it comes back. It expires in as
// much time as it amounts to.
TEST_F(FairnessTest, DebtsSurviveIdlenessAndExpire) {
  const auto served_before = [&](int64_t took_ns, int64_t idle_ns) {
    FlowGroup debtor, other;
    FrameFlow first(&debtor), second(&debtor), others(&other);
    FrameQueue queue(Frames(1000));
    Push(&queue, &first, took_ns);
    FrameJob* const job = queue.Pop();
    now_ns += took_ns;
    Finish(&queue, job);
    now_ns += idle_ns;
    Push(&queue, &second, kMs);
    for (int i = 0; i < 2; ++i) Push(&queue, &others, 10 * kMs);
    int frames = 0;
    while (Serve(&queue) != &second) ++frames;
    queue.Remove(&second);
    queue.Remove(&others);
    return frames;
  };
  EXPECT_EQ(served_before(400 * kMs, 0), 40);
  EXPECT_EQ(served_before(400 * kMs, 100 * kMs), 30);
  EXPECT_EQ(served_before(400 * kMs, 395 * kMs), 1);
  EXPECT_EQ(served_before(400 * kMs, 400 * kMs), 0);
  EXPECT_EQ(served_before(400 * kMs, 60'000 * kMs), 0);
  EXPECT_EQ(served_before(60'000 * kMs, 0), StartTimeFair<FlowGroup>::kMostDebtNs / (10 * kMs));  // no longer than this
}

// While a lane works for a client, the client is not idle.
TEST_F(FairnessTest, DebtsDoNotExpireDuringTheFramesThatCauseThem) {
  FrameQueue queue(Frames(1000));
  Push(&queue, &many_[0], 400 * kMs, 400'000'000);
  FrameJob* const job = queue.Pop();
  now_ns += 390 * kMs;
  Push(&queue, &many_[1], kMs);  // the client's only frame that waits
  Push(&queue, &one_, 10 * kMs);
  Push(&queue, &one_, 10 * kMs);
  Finish(&queue, job);
  int frames = 0;
  while (Serve(&queue) == &one_) ++frames;
  EXPECT_EQ(frames, 40);
  Empty(&queue);
}

// Frames that were expected to take longer than they did are no credit for later ones.
TEST_F(FairnessTest, WhatWasChargedTooMuchIsNotSaved) {
  FrameQueue queue(Frames(1000));
  for (int i = 0; i < 10; ++i) {
    Push(&queue, &many_[0], 1, 240'000'000);
    Finish(&queue, queue.Pop());
  }
  for (int i = 0; i < 8; ++i) {
    Push(&queue, &many_[0], kMs);
    Push(&queue, &one_, kMs);
  }
  served_.clear();
  for (int i = 0; i < 8; ++i) Serve(&queue);
  EXPECT_EQ(served_[&one_], 4 * kMs);
  Empty(&queue);
}

// Fairness among what is in the queue would be worth little if many streams could fill it.
TEST_F(FairnessTest, ManyStreamsBuyNoMoreRoomInAFullQueue) {
  FrameQueue queue(Frames(4));
  for (FrameFlow& flow : many_) Push(&queue, &flow, kMs);
  Push(&queue, &one_, kMs);
  for (int i = 0; i < 320; ++i) Serve(&queue);
  EXPECT_NEAR(static_cast<double>(served_[&one_]), 160.0 * kMs, 2.0 * kMs);
  Empty(&queue);
}

// Room goes to whose frames in the queue are expected to take the least time: by what such frames took, not their size.
TEST_F(FairnessTest, RoomInAFullQueueGoesByExpectedTime) {
  FrameQueue queue(Frames(3));
  FlowGroup third;
  FrameFlow filler(&third);
  for (const auto& [flow, lane_ns] : {std::pair(&one_, 6 * kMs), std::pair(&many_[0], 600 * kMs)}) {
    Push(&queue, flow, lane_ns, 307'200);
    Finish(&queue, queue.Pop());
  }
  now_ns += 60'000 * kMs;
  Push(&queue, &filler, kMs);
  FrameJob* const short_one = NewJob(6 * kMs, 1'000'000);
  FrameJob* const long_one = NewJob(600 * kMs, 100'000);
  Push(&queue, &many_[0], 600 * kMs, 100'000);
  Push(&queue, &one_, 6 * kMs, 1'000'000);
  EXPECT_EQ(queue.Push(&many_[1], long_one, WhenFull::kWait), FrameQueue::Admission::kWaiting);
  EXPECT_EQ(queue.Push(&one_, short_one, WhenFull::kWait), FrameQueue::Admission::kWaiting);
  EXPECT_EQ(queue.Pop()->in_queue.flow, &filler);
  EXPECT_EQ(sink_.last_admitted, short_one);
  Empty(&queue);
}

// The next that is let in belongs to whoever has least in the queue; a large frame is not passed by for ever.
TEST_F(FairnessTest, ALargeFrameIsLetInBetweenSmallOnes) {
  FrameQueue::Limits limits = Frames(100);
  limits.bytes = 100;
  FrameQueue queue(limits);
  FrameJob* const large = NewJob(100 * kMs, 100'000'000);
  large->bytes = 90;
  for (FrameFlow& flow : many_) {
    FrameJob* const small = NewJob(kMs, 1'000'000);
    small->bytes = 40;
    queue.Push(&flow, small, WhenFull::kWait);
  }
  EXPECT_EQ(queue.Push(&one_, large, WhenFull::kWait), FrameQueue::Admission::kWaiting);
  std::vector<FrameJob*> popped;
  for (int i = 0; i < 3; ++i) {
    popped.push_back(queue.Pop());
    Finish(&queue, popped.back());
  }
  EXPECT_EQ(popped.back(), large);  // after the two small ones that there was room for
  Empty(&queue);
}

TEST_F(FairnessTest, AClientThatComesBackHasSavedNothing) {
  FrameQueue queue(Frames(1000));
  for (int i = 0; i < 100; ++i) {
    Push(&queue, &one_, kMs);
    Finish(&queue, queue.Pop());
  }
  for (int i = 0; i < 8; ++i) {
    Push(&queue, &many_[0], kMs);
    Push(&queue, &one_, kMs);
  }
  std::vector<bool> of_one;
  for (int i = 0; i < 4; ++i) of_one.push_back(Serve(&queue) == &one_);
  EXPECT_THAT(of_one, ElementsAre(false, true, false, true));
  Empty(&queue);
}

}  // namespace
}  // namespace glint
