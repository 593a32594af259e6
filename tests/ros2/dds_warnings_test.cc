// What is told of ends that do not match and of losses.
#include <string>
#include <vector>

#include "dds_fixture.h"
#include "ros2/dds/bytes_type.h"
#include "ros2/dds/endpoints.h"
#include "ros2/dds/log.h"

namespace glint::ros2::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Waits for warnings; there are none after them.
std::vector<std::string> WarningsOf(Participant* participant) {
  std::vector<std::string> warnings;
  Await([&] { return !(warnings = participant->TakeWarnings()).empty(); });
  absl::SleepFor(absl::Milliseconds(50));
  EXPECT_THAT(participant->TakeWarnings(), IsEmpty());
  return warnings;
}

TEST_F(DdsTest, TellsReliabilityThatDoesNotMatch) {
  const auto one = Join("one"), two = Join("two");
  const auto publisher = one->Advertise("/image", TypeOf<ros::Image>(), kSensorData);
  const auto subscription = two->Subscribe("/image", TypeOf<ros::Image>(), {}, Inbox().callback());
  EXPECT_THAT(WarningsOf(one.get()), ElementsAre(AllOf(HasSubstr("topic /image: a subscription elsewhere asks for "
                                                                 "reliability reliable, we publish best effort"),
                                                       HasSubstr("publish reliable"))));
  EXPECT_THAT(WarningsOf(two.get()), ElementsAre(AllOf(HasSubstr("topic /image: a publisher elsewhere offers "
                                                                 "reliability best effort, we ask for reliable"),
                                                       HasSubstr("subscribe best effort"))));
  EXPECT_GE((*publisher)->counts().incompatible, 1);  // DDS may find one twice
  EXPECT_EQ((*publisher)->counts().matched, 0);
  EXPECT_GE((*subscription)->counts().incompatible, 1);
  EXPECT_EQ((*subscription)->counts().matched, 0);
}

TEST_F(DdsTest, TellsDurabilityThatDoesNotMatch) {
  const auto one = Join("one"), two = Join("two");
  const auto publisher = one->Advertise("/map", TypeOf<ros::Image>(), {});
  const auto subscription = two->Subscribe("/map", TypeOf<ros::Image>(), kLatched, Inbox().callback());
  EXPECT_THAT(WarningsOf(one.get()), ElementsAre(HasSubstr("durability transient local, we publish volatile")));
  EXPECT_THAT(WarningsOf(two.get()), ElementsAre(HasSubstr("durability volatile, we ask for transient local")));
}

TEST_F(DdsTest, TellsTypesThatDoNotMatch) {
  const auto one = Join("one"), two = Join("two");
  const auto publisher = one->Advertise("/image", TypeOf<ros::CompressedImage>(), {});
  const auto subscription = two->Subscribe("/image", TypeOf<ros::Image>(), {}, Inbox().callback());
  EXPECT_THAT(WarningsOf(one.get()),
              ElementsAre("topic /image: a subscription elsewhere has type sensor_msgs::msg::dds_::Image_, we have "
                          "sensor_msgs::msg::dds_::CompressedImage_: nothing goes between it and us"));
  EXPECT_THAT(WarningsOf(two.get()),
              ElementsAre("topic /image: a publisher elsewhere has type sensor_msgs::msg::dds_::CompressedImage_, we "
                          "have sensor_msgs::msg::dds_::Image_: nothing goes between it and us"));
}

TEST_F(DdsTest, TellsDefinitionsThatDoNotMatch) {
  const auto one = Join("one"), two = Join("two");
  const TypeInfo other = {ros::Image::kName, "RIHS01_00"};
  const auto publisher = one->Advertise("/image", other, {});
  const auto subscription = two->Subscribe("/image", TypeOf<ros::Image>(), {}, Inbox().callback());
  EXPECT_THAT(WarningsOf(two.get()),
              ElementsAre(AllOf(HasSubstr("topic /image: a publisher elsewhere has another definition of "),
                                HasSubstr("RIHS01_00"), HasSubstr(ros::TypeHash<ros::Image>()))));
}

// A message that is larger than any may be is refused, whoever sends it, and what follows is taken.
TEST_F(DdsTest, CountsMessagesThatAreLost) {
  const auto receiver = Join("receiver");
  Inbox inbox;
  const auto subscription = receiver->Subscribe("/image", TypeOf<ros::Image>(), kSensorData, inbox.callback());
  const auto domain = Domain::Join(*ReadEnvironment(), {"/", "sender"});
  ASSERT_TRUE(domain.ok()) << domain.status();
  const auto writer =
      Writer::Create(domain->get(), {"rt/image", "sensor_msgs::msg::dds_::Image_", "", {false, false, 10}});
  ASSERT_TRUE(writer.ok()) << writer.status();
  const auto send = [&](const Message& message) {
    BytesType::Sample sample(message);
    EXPECT_TRUE((*writer)->dds().write(&sample));
  };
  const auto await = [&](const Message& message) {
    return Await([&] {
      send(message);
      return inbox.Last() == message;
    });
  };
  ASSERT_TRUE(await(Message(100, 1)));
  send(Message(kMaxMessageBytes + 100'000, 2));
  ASSERT_TRUE(await(Message(100, 3)));
  for (const Message& message : inbox.messages()) EXPECT_EQ(message.size(), 100);
  EXPECT_TRUE(Await([&] { return (*subscription)->counts().lost >= 1; }));
  std::string all;
  for (const std::string& warning : receiver->TakeWarnings()) absl::StrAppend(&all, warning, "\n");
  EXPECT_THAT(all, HasSubstr("topic /image: "));
  EXPECT_THAT(all, HasSubstr(" messages were lost; "));
  TakeFastDdsErrors(/*flush=*/true);  // that it was refused, not for other tests
}

TEST(ComplaintsTest, TellsLossesWhenTheyHaveDoubled) {
  Complaints complaints("/left", {"rt/left", "x", "", kSensorData}, /*is_writer=*/false);
  Warnings warnings;
  const auto add = [&](int64_t received, int64_t lost, int64_t buffer) {
    complaints.AddLosses({received, lost, 0, 1}, {buffer, 8'388'608}, &warnings);
    return warnings.Take();
  };
  EXPECT_THAT(add(10, 0, 212'992), IsEmpty());
  EXPECT_THAT(
      add(83, 37, 212'992),
      ElementsAre("topic /left: 37 of 120 messages were lost; the socket's receive buffer is 212992 bytes: raise "
                  "net.core.rmem_max to 8388608, subscribe and publish reliable, or publish them compressed or "
                  "less often"));
  EXPECT_THAT(add(90, 74, 212'992), IsEmpty());
  EXPECT_THAT(add(90, 75, 8'388'608),
              ElementsAre("topic /left: 75 of 165 messages were lost; subscribe and publish reliable, or publish them "
                          "compressed or less often"));
  Complaints reliable("/left", {"rt/left", "x", "", {}}, /*is_writer=*/false);
  reliable.AddLosses({9, 1, 0, 1}, {1, 1}, &warnings);
  EXPECT_THAT(warnings.Take(), ElementsAre("topic /left: 1 of 10 messages were lost; raise the depth of publisher and "
                                           "subscription, or publish them compressed or less often"));
}

}  // namespace
}  // namespace glint::ros2::testing
