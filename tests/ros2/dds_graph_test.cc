// What other nodes see of a node, and its services, by plain ends of topics of DDS.
#include <fastdds/rtps/common/WriteParams.h>

#include <algorithm>
#include <string>
#include <vector>

#include "dds_fixture.h"
#include "ros2/dds/bytes_type.h"
#include "ros2/dds/endpoints.h"

namespace glint::ros2::testing {
namespace {

namespace dds = eprosima::fastdds::dds;
namespace rtps = eprosima::fastrtps::rtps;

TEST_F(DdsTest, AnnouncesTheNodeAndItsEnds) {
  const auto domain = Domain::Join(*ReadEnvironment(), {"/", "observer"});
  ASSERT_TRUE(domain.ok()) << domain.status();
  absl::Mutex mutex;
  ros::ParticipantEntitiesInfo last;
  const auto reader = Reader::Create(
      domain->get(), {"ros_discovery_info", "rmw_dds_common::msg::dds_::ParticipantEntitiesInfo_", "", kLatched},
      [&](BytesType::Sample bytes, const dds::SampleInfo&) {
        ros::ParticipantEntitiesInfo info;
        ASSERT_TRUE(ros::ReadCdr(bytes, &info).ok());
        ASSERT_EQ(info.node_entities_info_seq.size(), 1);
        const absl::MutexLock lock(&mutex);
        if (info.node_entities_info_seq[0].node_name == "glint") last = info;
      });
  ASSERT_TRUE(reader.ok()) << reader.status();
  auto participant = Participant::Create({"/robot", "glint"});
  ASSERT_TRUE(participant.ok()) << participant.status();
  const auto await = [&](size_t readers, size_t writers) {
    return Await([&] {
      const absl::MutexLock lock(&mutex);
      if (last.node_entities_info_seq.empty()) return false;
      const ros::NodeEntitiesInfo& node = last.node_entities_info_seq[0];
      return node.node_namespace == "/robot" && node.reader_gid_seq.size() == readers &&
             node.writer_gid_seq.size() == writers;
    });
  };
  EXPECT_TRUE(await(0, 0));
  auto subscription = (*participant)->Subscribe("/a", TypeOf<ros::Image>(), {}, Inbox().callback());
  EXPECT_TRUE(await(1, 0));
  auto publisher = (*participant)->Advertise("/b", TypeOf<ros::Image>(), {});
  EXPECT_TRUE(await(1, 1));
  {
    // The announced GUIDs are those that ends of these topics are discovered by.
    const absl::MutexLock lock(&mutex);
    const ros::NodeEntitiesInfo& node = last.node_entities_info_seq[0];
    EXPECT_TRUE(std::equal(last.gid.data.begin(), last.gid.data.begin() + 12, node.reader_gid_seq[0].data.begin()));
    EXPECT_TRUE(std::equal(last.gid.data.begin(), last.gid.data.begin() + 12, node.writer_gid_seq[0].data.begin()));
    EXPECT_EQ((std::vector<uint8_t>(last.gid.data.begin() + 12, last.gid.data.end())),
              (std::vector<uint8_t>{0, 0, 1, 0xc1}));  // ENTITYID_PARTICIPANT
    EXPECT_EQ(node.reader_gid_seq[0].data[15], 0x04);  // a reader without key
    EXPECT_EQ(node.writer_gid_seq[0].data[15], 0x03);  // a writer without key
  }
  const auto ends = [&](const char* topic) { return (*domain)->graph().EndsOf(topic); };
  ASSERT_TRUE(Await([&] { return ends("rt/a").size() == 1 && ends("rt/b").size() == 1; }));
  EXPECT_FALSE(ends("rt/a")[0].is_writer);
  EXPECT_TRUE(ends("rt/b")[0].is_writer);
  EXPECT_TRUE(ends("rt/b")[0].reliable);
  EXPECT_FALSE(ends("rt/b")[0].transient_local);
  EXPECT_EQ(ends("rt/b")[0].type, "sensor_msgs::msg::dds_::Image_");
  EXPECT_EQ(ends("rt/b")[0].hash, "RIHS01_d31d41a9a4c4bc8eae9be757b0beed306564f7526c88ea6a4588fb9582527d47");
  subscription->reset();
  EXPECT_TRUE(await(0, 1));
  publisher->reset();
  EXPECT_TRUE(await(0, 0));
  EXPECT_TRUE(Await([&] { return ends("rt/a").empty() && ends("rt/b").empty(); }));
}

// As a client does: it says in a request where it reads replies, and knows its reply by that and the request's number.
TEST_F(DdsTest, ServicesReplyToTheirRequests) {
  auto participant = Participant::Create({"/", "glint"});
  ASSERT_TRUE(participant.ok()) << participant.status();
  int calls = 0;
  auto service = (*participant)
                     ->Serve("/glint/reset",
                             {{"std_srvs/srv/Trigger", "RIHS01_1"},
                              {"std_srvs/srv/Trigger_Request", "RIHS01_2"},
                              {"std_srvs/srv/Trigger_Response", "RIHS01_3"}},
                             [&](absl::Span<const uint8_t> request, Message* response) {
                               response->assign(request.begin(), request.end());
                               response->insert(response->end(), 4, static_cast<uint8_t>(++calls));
                             });
  ASSERT_TRUE(service.ok()) << service.status();
  const auto domain = Domain::Join(*ReadEnvironment(), {"/", "client"});
  ASSERT_TRUE(domain.ok()) << domain.status();
  absl::Mutex mutex;
  std::vector<Message> replies;
  std::vector<rtps::SampleIdentity> of;
  auto reader = Reader::Create(domain->get(), {"rr/glint/resetReply", "std_srvs::srv::dds_::Trigger_Response_", "", {}},
                               [&](BytesType::Sample bytes, const dds::SampleInfo& info) {
                                 const absl::MutexLock lock(&mutex);
                                 replies.emplace_back(bytes.begin(), bytes.end());
                                 of.push_back(info.related_sample_identity);
                               });
  ASSERT_TRUE(reader.ok()) << reader.status();
  auto writer =
      Writer::Create(domain->get(), {"rq/glint/resetRequest", "std_srvs::srv::dds_::Trigger_Request_", "", {}});
  ASSERT_TRUE(writer.ok()) << writer.status();
  const auto matched = [&] {
    dds::PublicationMatchedStatus requests;
    (*writer)->dds().get_publication_matched_status(requests);
    dds::SubscriptionMatchedStatus answers;
    (*reader)->dds().get_subscription_matched_status(answers);
    return requests.current_count == 1 && answers.current_count == 1;
  };
  ASSERT_TRUE(Await(matched));
  for (const bool names_reader : {true, false}) {
    for (uint8_t i = 0; i < 3; ++i) {
      const Message request = {0, 1, 0, 0, i, 0, 0, 0};
      rtps::WriteParams params;
      if (names_reader) params.related_sample_identity().writer_guid() = (*reader)->dds().guid();
      BytesType::Sample sample(request);
      ASSERT_TRUE((*writer)->dds().write(&sample, params));
      const size_t count = names_reader ? i + 1 : i + 4;
      ASSERT_TRUE(Await([&] {
        const absl::MutexLock lock(&mutex);
        return replies.size() == count;
      }));
      const absl::MutexLock lock(&mutex);
      Message expected = request;
      expected.insert(expected.end(), 4, static_cast<uint8_t>(count));
      EXPECT_EQ(replies.back(), expected);
      EXPECT_EQ(of.back().sequence_number(), params.sample_identity().sequence_number());
      EXPECT_EQ(of.back().writer_guid(), names_reader ? (*reader)->dds().guid() : (*writer)->dds().guid());
    }
  }
  const auto hash_of = [&](const char* topic) {
    const std::vector<RemoteEnd> ends = (*domain)->graph().EndsOf(topic);
    return ends.size() == 1 ? ends[0].hash : "";
  };
  EXPECT_EQ(hash_of("rq/glint/resetRequest"), "RIHS01_2");
  EXPECT_EQ(hash_of("rr/glint/resetReply"), "RIHS01_3");
}

}  // namespace
}  // namespace glint::ros2::testing
