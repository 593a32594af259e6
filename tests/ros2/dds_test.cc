// Messages between two participants.
#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "dds_fixture.h"

namespace glint::ros2::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

template <class T>
std::unique_ptr<T> Made(absl::StatusOr<std::unique_ptr<T>> made) {
  EXPECT_TRUE(made.ok()) << made.status();
  return made.ok() ? *std::move(made) : nullptr;
}

class DeliveryTest : public DdsTest, public ::testing::WithParamInterface<TypeInfo> {};

// Of types whose messages are paced and of others.
INSTANTIATE_TEST_SUITE_P(Types, DeliveryTest, ::testing::Values(TypeOf<ros::Image>(), TypeOf<ros::Path>()));

TEST_P(DeliveryTest, DeliversTheBytes) {
  const auto one = Join("one"), two = Join("two");
  Inbox inbox;
  const auto subscription = Made(two->Subscribe("/a/b", GetParam(), {}, inbox.callback()));
  const auto publisher = Made(one->Advertise("/a/b", GetParam(), {}));
  EXPECT_EQ(publisher->topic(), "/a/b");
  ASSERT_TRUE(Await([&] { return publisher->has_subscribers() && subscription->counts().matched == 1; }));
  std::vector<Message> sent;
  const int64_t before = absl::GetCurrentTimeNanos();
  for (const size_t size : {8, 1000, 65'500, 65'536, 2'000'000, 6'220'804, 12}) {
    Message message(size);
    for (size_t i = 0; i < size; ++i) message[i] = static_cast<uint8_t>(i * i / 7 + size);
    std::copy_n(std::vector<uint8_t>{0, 1, 0, 0}.begin(), 4, message.begin());
    sent.push_back(message);
    ASSERT_TRUE(publisher->Publish(message).ok());
    ASSERT_TRUE(inbox.Has(sent.size())) << size;
  }
  const int64_t after = absl::GetCurrentTimeNanos();
  EXPECT_TRUE(inbox.messages() == sent);
  int64_t last = before;
  for (const SampleInfo& info : inbox.infos()) {
    EXPECT_GE(info.source_ns, last);
    EXPECT_GE(info.received_ns, info.source_ns);
    last = info.source_ns;
  }
  EXPECT_LE(last, after);
  EXPECT_EQ(publisher->counts().published, 7);
  EXPECT_EQ(publisher->counts().failed, 0);
  EXPECT_EQ(subscription->counts().received, 7);
  EXPECT_EQ(subscription->counts().lost, 0);
  EXPECT_THAT(one->TakeWarnings(), SizeIs(0));
  EXPECT_THAT(two->TakeWarnings(), SizeIs(0));
}

TEST_F(DdsTest, WhoComesLaterGetsTheLast) {
  const auto one = Join("one"), two = Join("two");
  const auto publisher = Made(one->Advertise("/map", TypeOf<ros::String>(), kLatched));
  for (const char* text : {"abc", "def", "ghi"}) ASSERT_TRUE(publisher->Publish(TextMessage(text)).ok());
  Inbox latched, volatile_;
  const auto late = Made(two->Subscribe("/map", TypeOf<ros::String>(), kLatched, latched.callback()));
  const auto other = Made(two->Subscribe("/map", TypeOf<ros::String>(), {}, volatile_.callback()));
  ASSERT_TRUE(latched.Has(1));
  ASSERT_TRUE(Await([&] { return publisher->counts().matched == 2; }));
  ASSERT_TRUE(publisher->Publish(TextMessage("jkl")).ok());
  ASSERT_TRUE(latched.Has(2));
  ASSERT_TRUE(volatile_.Has(1));
  EXPECT_THAT(latched.messages(), ElementsAre(TextMessage("ghi"), TextMessage("jkl")));
  EXPECT_THAT(volatile_.messages(), ElementsAre(TextMessage("jkl")));
  EXPECT_THAT(one->OpenTopics(), ElementsAre("/map"));
  EXPECT_THAT(two->OpenTopics(), ElementsAre("/map", "/map"));
}

TEST_F(DdsTest, NothingComesAfterItsEnd) {
  const auto one = Join("one"), two = Join("two");
  const auto publisher = Made(one->Advertise("/x", TypeOf<ros::String>(), {}));
  std::atomic<bool> stop = false;
  std::thread sender([&] {
    while (!stop) {
      (void)publisher->Publish(TextMessage("x"));
      absl::SleepFor(absl::Microseconds(200));
    }
  });
  for (int i = 0; i < 5; ++i) {
    std::atomic<bool> ended = false;
    std::atomic<int> in_time = 0, late = 0;
    auto subscription =
        Made(two->Subscribe("/x", TypeOf<ros::String>(), {}, [&](absl::Span<const uint8_t>, const SampleInfo&) {
          absl::SleepFor(absl::Milliseconds(1));
          ++(ended ? late : in_time);
        }));
    EXPECT_TRUE(Await([&] { return in_time > 3; }));
    subscription.reset();
    ended = true;
    absl::SleepFor(absl::Milliseconds(20));
    EXPECT_EQ(late, 0);
  }
  stop = true;
  sender.join();
  EXPECT_TRUE(Await([&] { return !publisher->has_subscribers(); }));
}

TEST_F(DdsTest, ASlowSubscriptionHoldsUpNoOther) {
  const auto one = Join("one"), two = Join("two");
  absl::Notification go;
  Inbox inbox;
  std::atomic<int> slow_calls = 0;
  const auto slow =
      Made(two->Subscribe("/slow", TypeOf<ros::String>(), {}, [&](absl::Span<const uint8_t>, const SampleInfo&) {
        ++slow_calls;
        go.WaitForNotification();
      }));
  const auto quick = Made(two->Subscribe("/quick", TypeOf<ros::String>(), {}, inbox.callback()));
  const auto to_slow = Made(one->Advertise("/slow", TypeOf<ros::String>(), {}));
  const auto to_quick = Made(one->Advertise("/quick", TypeOf<ros::String>(), {}));
  EXPECT_TRUE(Await([&] { return to_slow->has_subscribers() && to_quick->has_subscribers(); }));
  EXPECT_TRUE(Await([&] {  // it may have found the publisher later
    EXPECT_TRUE(to_slow->Publish(TextMessage("x")).ok());
    return slow_calls == 1;
  }));
  for (int i = 0; i < 49; ++i) EXPECT_TRUE(to_slow->Publish(TextMessage("x")).ok());
  EXPECT_TRUE(to_quick->Publish(TextMessage("y")).ok());
  EXPECT_TRUE(inbox.Has(1));
  EXPECT_EQ(slow_calls, 1);
  go.Notify();
  EXPECT_TRUE(Await([&] { return slow_calls > 1; }));
  // The last ten waited; others are counted.
  EXPECT_TRUE(Await([&] { return slow->counts().lost >= 49 - 10; }));
}

TEST_F(DdsTest, RefusesWhatIsOutOfRange) {
  EXPECT_THAT(std::string(Participant::Create({"/", "1x"}).status().message()), HasSubstr("1x"));
  EXPECT_THAT(std::string(Participant::Create({"x", "y"}).status().message()), HasSubstr("x"));
  const auto one = Join("one");
  for (const int depth : {0, -1, 1001}) {
    EXPECT_EQ(one->Advertise("/x", TypeOf<ros::String>(), {true, false, depth}).status().message(),
              absl::StrCat("qos.depth: ", depth, " is not in 1..1000"));
    EXPECT_FALSE(one->Subscribe("/x", TypeOf<ros::String>(), {true, false, depth}, nullptr).ok());
  }
  const auto publisher = Made(one->Advertise("/x", TypeOf<ros::String>(), {}));
  EXPECT_EQ(publisher->Publish(Message((64 << 20) + 1)).message(), "topic /x: bytes: 67108865 is not in 4..67108864");
  EXPECT_EQ(publisher->Publish({}).message(), "topic /x: bytes: 0 is not in 4..67108864");
  const auto other = one->Subscribe("/x", TypeOf<ros::Imu>(), {}, nullptr);
  EXPECT_EQ(other.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(other.status().message()), HasSubstr("std_msgs::msg::dds_::String_"));
}

TEST_F(DdsTest, RefusesEnvironmentsOutOfRange) {
  const struct {
    const char *name, *value, *error;
  } kCases[] = {
      {"ROS_DOMAIN_ID", "233", "ROS_DOMAIN_ID: 233 is not in 0..232"},
      {"ROS_DOMAIN_ID", "-1", "ROS_DOMAIN_ID: -1 is not in 0..232"},
      {"ROS_DOMAIN_ID", "4 2", "ROS_DOMAIN_ID: 4 2 is not in 0..232"},
      {"ROS_LOCALHOST_ONLY", "yes", "ROS_LOCALHOST_ONLY: \"yes\" is not one of 0, 1"},
      {"ROS_AUTOMATIC_DISCOVERY_RANGE", "subnet",
       "ROS_AUTOMATIC_DISCOVERY_RANGE: \"subnet\" is not one of OFF, LOCALHOST, SUBNET, SYSTEM_DEFAULT"},
      {"FASTRTPS_DEFAULT_PROFILES_FILE", "/no/file.xml",
       "FASTRTPS_DEFAULT_PROFILES_FILE: \"/no/file.xml\": Fast DDS: "},
  };
  for (const auto& test : kCases) {
    SetUp();
    setenv(test.name, test.value, 1);
    const absl::Status status = Participant::Create({"/", "x"}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), StartsWith(test.error));
  }
}

TEST_F(DdsTest, OtherDomainsAndRangesHearNothing) {
  const auto one = Join("one");
  setenv("ROS_DOMAIN_ID", absl::StrCat(20 + (getpid() + 1) % 200).c_str(), 1);
  const auto elsewhere = Join("two");
  SetUp();
  setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "OFF", 1);
  const auto off = Join("three");
  SetUp();
  unsetenv("ROS_AUTOMATIC_DISCOVERY_RANGE");
  setenv("ROS_LOCALHOST_ONLY", "1", 1);
  const auto near = Join("four");
  const auto publisher = Made(one->Advertise("/x", TypeOf<ros::String>(), kLatched));
  ASSERT_TRUE(publisher->Publish(TextMessage("x")).ok());
  Inbox none, inbox;
  const auto a = Made(elsewhere->Subscribe("/x", TypeOf<ros::String>(), kLatched, none.callback()));
  const auto b = Made(off->Subscribe("/x", TypeOf<ros::String>(), kLatched, none.callback()));
  const auto c = Made(near->Subscribe("/x", TypeOf<ros::String>(), kLatched, inbox.callback()));
  ASSERT_TRUE(inbox.Has(1));
  absl::SleepFor(absl::Milliseconds(200));
  EXPECT_THAT(none.messages(), SizeIs(0));
  EXPECT_EQ(publisher->counts().matched, 1);
}

}  // namespace
}  // namespace glint::ros2::testing
