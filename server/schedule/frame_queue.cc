#include "server/schedule/frame_queue.h"

#include <algorithm>
#include <tuple>

#include "server/schedule/lane_context.h"

namespace glint {
namespace {

constexpr int64_t kMinWaitNs = 1'000'000;
constexpr int64_t kMeanWeight = 8;  // of the old mean; a new value has weight 1

// Nominal cost of a job without pixels.
constexpr int64_t kLeastPixels = 1 << 14;
// Rate of work of which there is no example yet.
constexpr double kFirstNsPerPixel = 1;

double NominalCost(const FrameJob& job) { return static_cast<double>(job.pixels + kLeastPixels); }

size_t KindOf(const FrameJob& job) { return 2 * job.kind + (job.is_edit ? 1 : 0); }

void MoveJobsOf(const FrameFlow& flow, FrameList* from, FrameList* to) {
  FrameList others;
  while (FrameJob* job = from->PopFront()) (job->in_queue.flow == &flow ? *to : others).PushBack(job);
  *from = others;
}

}  // namespace

void FrameList::PushBack(FrameJob* job) {
  job->in_queue.next = nullptr;
  (head_ == nullptr ? head_ : tail_->in_queue.next) = job;
  tail_ = job;
}

FrameJob* FrameList::PopFront() {
  FrameJob* job = head_;
  if (job != nullptr) head_ = job->in_queue.next;
  return job;
}

bool FrameList::Remove(FrameJob* job) {
  FrameJob* before = nullptr;
  for (FrameJob* at = head_; at != nullptr; before = at, at = at->in_queue.next) {
    if (at != job) continue;
    (before == nullptr ? head_ : before->in_queue.next) = job->in_queue.next;
    if (tail_ == job) tail_ = before;
    return true;
  }
  return false;
}

void FrameList::Replace(FrameJob* old, FrameJob* job) {
  job->in_queue.next = old->in_queue.next;
  if (tail_ == old) tail_ = job;
  FrameJob** link = &head_;
  while (*link != old) link = &(*link)->in_queue.next;
  *link = job;
}

// ---- Pushing.

FrameQueue::Admission FrameQueue::Push(FrameFlow* flow, FrameJob* job, WhenFull when_full) {
  job->in_queue.flow = flow;
  std::lock_guard<std::mutex> lock(mutex_);
  if (closed_) return Admission::kClosed;
  job->queue_depth = Size();
  job->in_queue.reserved = false;
  if (!flow->urgent_ && !FindRoom(job)) {
    if (when_full == WhenFull::kReject) return Admission::kRejected;
    waiting_.PushBack(job);
    return Admission::kWaiting;
  }
  Count(*job, 1);
  Add(job);
  idle_lanes_.WakeOne(flow->lane_);
  return Admission::kQueued;
}

FrameQueue::Admission FrameQueue::PushNewest(FrameFlow* flow, FrameJob* job, int displace, bool must_displace,
                                             FrameList* displaced) {
  job->in_queue.flow = flow;
  std::unique_lock<std::mutex> lock(mutex_);
  if (closed_) return Admission::kClosed;
  FrameJob* outside = waiting_.front();
  while (outside != nullptr && outside->in_queue.flow != flow) outside = outside->in_queue.next;
  if (must_displace && outside == nullptr && flow->jobs_.empty()) return Admission::kRejected;

  job->queue_depth = Size();
  // The flow stays among its group's meanwhile, so that it keeps its turn however often its frames are replaced.
  int64_t own_bytes = 0;
  bool own_reserved = false;
  const auto displace_first = [&] {
    const FrameJob& first = *flow->jobs_.front();
    own_reserved = own_reserved || first.in_queue.reserved;
    if (!first.in_queue.reserved) own_bytes += first.bytes;
    displaced->PushBack(TakeFirst(flow));
  };
  for (; displace > 0 && !flow->jobs_.empty(); --displace) displace_first();
  Admission admission = Admission::kQueued;
  if (outside != nullptr) {
    waiting_.Replace(outside, job);
    displaced->PushBack(outside);
    admission = Admission::kWaiting;
  } else {
    while (!FindRoom(job, own_bytes, own_reserved) && !flow->jobs_.empty()) displace_first();
    if (FindRoom(job, own_bytes, own_reserved)) {
      Count(*job, 1);
      Add(job);
      idle_lanes_.WakeOne(flow->lane_);
    } else {
      waiting_.PushBack(job);
      admission = Admission::kWaiting;
    }
  }
  UnlinkUnlessReady(flow);
  AdmitWaiting(&lock);
  return admission;
}

bool FrameQueue::FindRoom(FrameJob* job, int64_t own_bytes, bool own_reserved) const {
  job->in_queue.reserved = !Fits(*job) || (!waiting_.empty() && (own_bytes == 0 || job->bytes > own_bytes));
  return !job->in_queue.reserved || FitsReserve(*job, own_reserved);
}

FrameJob* FrameQueue::FindRoomForWaiting() const {
  FrameJob* next = waiting_.front();
  for (FrameJob* job = next; job != nullptr; job = job->in_queue.next) {
    const FlowGroup& group = *job->in_queue.flow->group_;
    const FlowGroup& best = *next->in_queue.flow->group_;
    if (std::tie(group.expected_ns_, group.entry_) < std::tie(best.expected_ns_, best.entry_)) next = job;
  }
  if (next == nullptr) return nullptr;
  next->in_queue.reserved = !Fits(*next);
  if (!next->in_queue.reserved) return next;
  for (next = waiting_.front(); next != nullptr && !FitsReserve(*next); next = next->in_queue.next) {
  }
  if (next != nullptr) next->in_queue.reserved = true;
  return next;
}

bool FrameQueue::AdmitWaiting(std::unique_lock<std::mutex>* lock) {
  bool any = false;
  while (FrameJob* const job = FindRoomForWaiting()) {
    waiting_.Remove(job);
    Count(*job, 1);
    // The sink is notified before the job can be popped, hence finished and deleted; until then the job is in no list.
    lock->unlock();
    job->sink->OnFrameAdmitted(job);
    lock->lock();
    Add(job);
    idle_lanes_.WakeOne(job->in_queue.flow->lane_);
    any = true;
  }
  return any;
}

void FrameQueue::Count(const FrameJob& job, int change) {
  Room& room = RoomOf(job);
  room.frames += change;
  room.bytes += change * job.bytes;
  job.in_queue.flow->group_->frames_ += change;
}

void FrameQueue::Add(FrameJob* job) {
  if (job->in_queue.flow->urgent_) return urgent_.PushBack(job);
  const int64_t now = limits_.clock();
  const int64_t expected_ns = ExpectedNs(*job, now);
  if (expected_ns > 0) recent_.Add(std::max(expected_ns, kShortNs), now);
  FrameFlow* const flow = job->in_queue.flow;
  flow->jobs_.PushBack(job);
  job->in_queue.expected_ns = expected_ns;
  flow->group_->expected_ns_ += expected_ns;
  flow->group_->entry_ = ++entries_;
  LinkIfReady(flow);
}

void FrameQueue::LinkIfReady(FrameFlow* flow) {
  if (flow->jobs_.empty() || flow->on_lane_) return;
  const int64_t now = limits_.clock();
  flow->group_->flows_.Add(flow, now);
  groups_.Add(flow->group_, now);
}

// ---- Popping.

FrameJob* FrameQueue::Pop(LaneWaiter* waiter, const std::atomic<bool>* stop) {
  std::unique_lock<std::mutex> lock(mutex_);
  ++idle_;
  int64_t idle_since = 0;
  FrameJob* job = nullptr;
  while (stop == nullptr || !*stop) {
    if ((job = TryPop()) != nullptr || (closed_ && groups_.empty())) break;
    if (AdmitWaiting(&lock)) continue;  // a job that waits for later messages has made room
    if (idle_since == 0) idle_since = MonotonicNs();
    WaitAt(waiter, &lock);
  }
  --idle_;
  if (job == nullptr) {
    idle_lanes_.WakeOne(nullptr);  // for a frame that this one may have been woken for
    return nullptr;
  }
  waiter->spin_budget_.FrameCameAfter(idle_since == 0 ? 0 : MonotonicNs() - idle_since);
  job->in_queue.flow->lane_ = waiter;
  if (waits_ > 0) idle_lanes_.WakeOne(nullptr);  // another lane is to know how long jobs wait
  AdmitWaiting(&lock);
  return job;
}

void FrameQueue::WaitAt(LaneWaiter* waiter, std::unique_lock<std::mutex>* lock) {
  // Queued frames are withheld from this lane for a limited time, which may end without any event.
  if (!groups_.empty()) {
    const int64_t wait_ns = std::max<int64_t>(waits_until_ - limits_.clock(), 0);
    return idle_lanes_.Sleep(waiter, std::min(wait_ns, RecentCosts::kWindowNs / 4), lock);
  }
  idle_lanes_.SpinAndSleep(waiter, limits_.max_spinning, lock);
}

FrameJob* FrameQueue::TryPop() {
  if (FrameJob* const job = urgent_.PopFront()) {
    --RoomOf(*job).frames;
    return job;
  }
  const int64_t now = limits_.clock();
  waits_until_ = std::numeric_limits<int64_t>::max();
  FlowGroup* group;
  FrameFlow* flow = nullptr;
  while (flow == nullptr) {  // once, unless its job has begun to wait meanwhile
    group = groups_.Next([&](FlowGroup* of) { return NextFlow(*of, now) != nullptr; });
    if (group == nullptr) return nullptr;
    flow = NextFlow(*group, now);
  }
  FrameJob* const job = flow->jobs_.PopFront();
  SetWaits(flow, *job, false);
  LeaveGroup(*job);
  const int64_t expected_ns = job->in_queue.expected_ns = ExpectedNs(*job, now);
  group->flows_.Serve(flow, expected_ns);
  groups_.Serve(group, expected_ns);
  --RoomOf(*job).frames;
  flow->on_lane_ = flow->serial_;
  UnlinkUnlessReady(flow);
  return job;
}

// The flow whose first job is the group's next; null if all are kept from the last idle lane.
FrameFlow* FrameQueue::NextFlow(const FlowGroup& group, int64_t now) {
  return group.flows_.Next([&](FrameFlow* flow) { return MayStart(flow, now); });
}

int64_t FrameQueue::WaitsUntil(const FrameFlow& flow, int64_t now) const {
  const FrameJob& job = *flow.jobs_.front();
  if (!flow.may_wait_ || flow.begins_ == &job || closed_) return 0;
  if (job.cancelled.load(std::memory_order_relaxed) || job.Expired(now)) return 0;
  const int64_t until = job.work->WaitsUntil(job);
  return until > now ? until : 0;
}

void FrameQueue::SetWaits(FrameFlow* flow, const FrameJob& first, bool waits) {
  const int change = (waits ? 1 : 0) - (flow->waits_ ? 1 : 0);
  waits_ += change;
  RoomOf(first).frames -= change;
  flow->waits_ = waits;
}

bool FrameQueue::MayStart(FrameFlow* flow, int64_t now) {
  const int64_t waits_until = WaitsUntil(*flow, now);
  SetWaits(flow, *flow->jobs_.front(), waits_until > 0);
  if (flow->waits_) {
    waits_until_ = std::min(waits_until_, waits_until);
    return false;
  }
  if (idle_ > 1 || lanes_ < 2 || closed_) return true;
  const int64_t expected_ns = ExpectedNs(*flow->jobs_.front(), now);
  return expected_ns <= kShortNs || recent_.CountMuchCheaper(expected_ns, now) < kSteadyFrames;
}

int64_t FrameQueue::ExpectedNs(const FrameJob& job, int64_t now) const {
  if (job.cancelled.load(std::memory_order_relaxed) || job.Expired(now)) return 0;
  const FrameFlow& flow = *job.in_queue.flow;
  const FlowGroup& group = *flow.group_;
  double rate = kFirstNsPerPixel;
  for (const LaneRates* rates : {&rates_, &group.rates_, &flow.rates_}) {
    if (const double recent = rates->of(KindOf(job)); recent > 0) rate = recent;
  }
  return static_cast<int64_t>(std::clamp(rate * NominalCost(job), 1.0, static_cast<double>(groups_.kMostDebtNs)));
}

// Work that was refused or cancelled says little of what other work takes.
void FrameQueue::Learn(const FrameJob& job, int64_t lane_ns) {
  if (!job.status.ok() && lane_ns <= job.in_queue.expected_ns) return;
  FrameFlow* const flow = job.in_queue.flow;
  const double rate = static_cast<double>(std::max<int64_t>(lane_ns, 1)) / NominalCost(job);
  for (LaneRates* rates : {&rates_, &flow->group_->rates_, &flow->rates_}) rates->Add(KindOf(job), rate);
}

void FrameQueue::Finished(const FrameJob& job, int64_t lane_ns) {
  FrameFlow* const flow = job.in_queue.flow;
  std::lock_guard<std::mutex> lock(mutex_);
  --flow->group_->frames_;
  if (flow->urgent_) return;
  Learn(job, lane_ns);
  const int64_t now = limits_.clock();
  const int64_t more_ns = lane_ns - job.in_queue.expected_ns;
  flow->group_->flows_.Finish(flow, more_ns, now);
  groups_.Finish(flow->group_, more_ns, now);
  if (!flow->serial_) return;
  flow->on_lane_ = false;
  LinkIfReady(flow);
  if (!flow->jobs_.empty()) idle_lanes_.WakeOne(flow->lane_);
}

void FrameQueue::MoreMayCome(FrameFlow* flow, bool more, const FrameJob* but_for) {
  std::lock_guard<std::mutex> lock(mutex_);
  flow->may_wait_ = more;
  flow->begins_ = but_for;
  if (flow->waits_) idle_lanes_.WakeOne(flow->lane_);
}

void FrameQueue::Release(int64_t bytes, int64_t lane_ns, bool reserved) {
  std::unique_lock<std::mutex> lock(mutex_);
  (reserved ? reserve_ : general_).bytes -= bytes;
  mean_lane_ns_ += (lane_ns - mean_lane_ns_) / (mean_lane_ns_ == 0 ? 1 : kMeanWeight);
  AdmitWaiting(&lock);
}

void FrameQueue::WakeLanes() {
  std::lock_guard<std::mutex> lock(mutex_);
  idle_lanes_.WakeAll();
}

void FrameQueue::LaneLeaves() {
  std::lock_guard<std::mutex> lock(mutex_);
  --lanes_;
  idle_lanes_.WakeAll();
}

// ---- Taking back.

FrameJob* FrameQueue::TakeFirst(FrameFlow* flow) {
  FrameJob* const job = flow->jobs_.PopFront();
  SetWaits(flow, *job, false);
  LeaveGroup(*job);
  Count(*job, -1);
  return job;
}

void FrameQueue::LeaveGroup(const FrameJob& job) {
  job.in_queue.flow->group_->expected_ns_ -= job.in_queue.expected_ns;
}

FrameList FrameQueue::Remove(FrameFlow* flow) {
  std::unique_lock<std::mutex> lock(mutex_);
  FrameList removed, urgent;
  while (!flow->jobs_.empty()) removed.PushBack(TakeFirst(flow));
  UnlinkUnlessReady(flow);
  MoveJobsOf(*flow, &urgent_, &urgent);
  for (FrameJob* job = urgent.front(); job != nullptr; job = job->in_queue.next) Count(*job, -1);
  while (FrameJob* job = urgent.PopFront()) removed.PushBack(job);
  MoveJobsOf(*flow, &waiting_, &removed);
  AdmitWaiting(&lock);
  return removed;
}

bool FrameQueue::Remove(FrameJob* job) {
  std::unique_lock<std::mutex> lock(mutex_);
  FrameFlow* const flow = job->in_queue.flow;
  if (flow == nullptr) return false;
  const FrameJob* const first = flow->jobs_.front();
  if (flow->jobs_.Remove(job)) {
    SetWaits(flow, *first, false);
    LeaveGroup(*job);
    Count(*job, -1);
    UnlinkUnlessReady(flow);
  } else if (urgent_.Remove(job)) {
    Count(*job, -1);
  } else if (!waiting_.Remove(job)) {
    return false;
  }
  AdmitWaiting(&lock);
  return true;
}

void FrameQueue::UnlinkUnlessReady(FrameFlow* flow) {
  if (!flow->jobs_.empty() && !flow->on_lane_) return;
  const int64_t now = limits_.clock();
  flow->group_->flows_.Remove(flow, now);
  if (flow->group_->flows_.empty()) groups_.Remove(flow->group_, now);
}

void FrameQueue::Close() {
  std::lock_guard<std::mutex> lock(mutex_);
  closed_ = true;
  idle_lanes_.WakeAll();
}

int FrameQueue::size() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return Size();
}

int64_t FrameQueue::bytes() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return general_.bytes + reserve_.bytes;
}

int FrameQueue::idle_lanes() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return idle_lanes_.count();
}

int64_t FrameQueue::ExpectedWaitNs() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return std::max(kMinWaitNs, mean_lane_ns_ * (Size() + 1) / std::max(lanes_, 1));
}

}  // namespace glint
