// Lanes are shared between clients first and between a client's streams second.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <map>
#include <vector>

#include "server/schedule/frame_queue.h"

namespace glint {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using WhenFull = FrameQueue::WhenFull;

constexpr size_t kMany = 16;

class NoSink : public FrameSink {
 public:
  void OnFrameAdmitted(FrameJob*) override {}
  void OnFrameDone(FrameJob*) override {}
};

// A client with one stream and a client with sixteen, all of which always have frames waiting.
class FairnessTest : public ::testing::Test {
 protected:
  FairnessTest() {
    one_.Join(&modest_);
    for (FrameFlow& flow : many_) flow.Join(&greedy_);
  }
  FrameJob* NewJob(int64_t pixels) {
    jobs_.emplace_back();
    jobs_.back().sink = &sink_;
    jobs_.back().pixels = pixels;
    return &jobs_.back();
  }
  void Push(FrameQueue* queue, FrameFlow* flow, int64_t pixels) { queue->Push(flow, NewJob(pixels), WhenFull::kWait); }
  // Pops a frame, and lets its stream send the next. Its pixels are added to those of its stream.
  void Serve(FrameQueue* queue) {
    FrameJob* const job = queue->Pop();
    served_[job->in_queue.flow] += job->pixels;
    queue->Release(job->bytes, 1);
    Push(queue, job->in_queue.flow, job->pixels);
  }
  int64_t OfTheMany() const {
    int64_t sum = 0;
    for (const FrameFlow& flow : many_) sum += served_.count(&flow) > 0 ? served_.at(&flow) : 0;
    return sum;
  }
  void Empty(FrameQueue* queue) {
    queue->Remove(&one_);
    for (FrameFlow& flow : many_) queue->Remove(&flow);
  }

  NoSink sink_;
  std::deque<FrameJob> jobs_;
  FlowGroup modest_, greedy_;
  FrameFlow one_;
  std::array<FrameFlow, kMany> many_;
  std::map<const FrameFlow*, int64_t> served_;
};

TEST_F(FairnessTest, ManyStreamsBuyNoMoreLanes) {
  FrameQueue::Limits limits;
  limits.frames = 1000;
  FrameQueue queue(limits);
  for (int i = 0; i < 3; ++i) {
    Push(&queue, &one_, kQuantumPixels);
    for (FrameFlow& flow : many_) Push(&queue, &flow, kQuantumPixels);
  }
  for (int i = 0; i < 320; ++i) Serve(&queue);
  EXPECT_EQ(served_[&one_], 160 * kQuantumPixels);
  // ... and they share what their client has.
  std::vector<int64_t> shares;
  for (const FrameFlow& flow : many_) shares.push_back(served_[&flow]);
  EXPECT_THAT(shares, Each(10 * kQuantumPixels));
  Empty(&queue);
}

TEST_F(FairnessTest, SharesArePixelsWhateverTheSizesOfPictures) {
  for (const auto& [small, large] : {std::pair(&one_, &many_[0]), std::pair(&many_[0], &one_)}) {
    served_.clear();
    FrameQueue::Limits limits;
    limits.frames = 1000;
    FrameQueue queue(limits);
    for (int i = 0; i < 20; ++i) {
      Push(&queue, small, kQuantumPixels);
      Push(&queue, large, 9 * kQuantumPixels);
      Push(&queue, &many_[1], 3 * kQuantumPixels);
    }
    for (int i = 0; i < 4000; ++i) Serve(&queue);
    EXPECT_NEAR(static_cast<double>(served_[&one_]) / static_cast<double>(OfTheMany()), 1, 0.02);
    EXPECT_NEAR(static_cast<double>(served_[&many_[1]]) / static_cast<double>(served_[&many_[0]]), 1, 0.02);
    Empty(&queue);
  }
}

// Fairness among what is in the queue would be worth little if many streams could fill it.
TEST_F(FairnessTest, ManyStreamsBuyNoMoreRoomInAFullQueue) {
  FrameQueue::Limits limits;
  limits.frames = 4;
  FrameQueue queue(limits);
  for (FrameFlow& flow : many_) Push(&queue, &flow, kQuantumPixels);
  Push(&queue, &one_, kQuantumPixels);
  for (int i = 0; i < 320; ++i) Serve(&queue);
  EXPECT_NEAR(static_cast<double>(served_[&one_]), 160.0 * kQuantumPixels, 2.0 * kQuantumPixels);
  Empty(&queue);
}

// The next that is let in belongs to whoever has least in the queue; a large frame is not passed by for ever.
TEST_F(FairnessTest, ALargeFrameIsLetInBetweenSmallOnes) {
  FrameQueue::Limits limits;
  limits.frames = 100;
  limits.bytes = 100;
  FrameQueue queue(limits);
  FrameJob* const large = NewJob(100 * kQuantumPixels);
  large->bytes = 90;
  for (FrameFlow& flow : many_) {
    FrameJob* const small = NewJob(kQuantumPixels);
    small->bytes = 40;
    queue.Push(&flow, small, WhenFull::kWait);
  }
  EXPECT_EQ(queue.Push(&one_, large, WhenFull::kWait), FrameQueue::Admission::kWaiting);
  std::vector<FrameJob*> popped;
  for (int i = 0; i < 3; ++i) {
    popped.push_back(queue.Pop());
    queue.Release(popped.back()->bytes, 1);
  }
  EXPECT_EQ(popped.back(), large);  // after the two small ones that there was room for
  Empty(&queue);
}

TEST_F(FairnessTest, AClientThatComesBackHasSavedNothing) {
  FrameQueue::Limits limits;
  limits.frames = 1000;
  FrameQueue queue(limits);
  for (int i = 0; i < 100; ++i) {
    Push(&queue, &one_, kQuantumPixels);
    queue.Pop();
  }
  for (int i = 0; i < 8; ++i) {
    Push(&queue, &many_[0], kQuantumPixels);
    Push(&queue, &one_, kQuantumPixels);
  }
  std::vector<bool> of_one;
  for (int i = 0; i < 4; ++i) of_one.push_back(queue.Pop()->in_queue.flow == &one_);
  EXPECT_THAT(of_one, ElementsAre(false, true, false, true));
  Empty(&queue);
}

}  // namespace
}  // namespace glint
