// Turns of calls: their order, refusals for now, patience; and a client of many threads whose server takes few calls.
#include "client/call_gate.h"

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/wrappers.pb.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/client.h"
#include "client/wire.h"
#include "features/error.h"
#include "features/steady_time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/fake_server.h"
#include "tests/support/images.h"

namespace glint::client {
namespace {

using ::glint::testing::Flat;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Turn = CallGate::Turn;

constexpr absl::Duration kLong = absl::Minutes(1);
constexpr char kCallsFlag[] = "--max-detect-calls";

void AddDetail(const std::string& name, const google::protobuf::MessageLite& message, v1::StatusDetails* details) {
  google::protobuf::Any* const any = details->add_details();
  any->set_type_url("type.googleapis.com/google.rpc." + name);
  any->set_value(message.SerializeAsString());
}

// A refusal for now, by a limit of the server.
grpc::Status Busy(absl::Duration retry_after, int limit, const std::string& flag = kCallsFlag) {
  v1::StatusDetails details;
  v1::ErrorInfo info;
  info.set_reason("OVER_LIMIT");
  (*info.mutable_metadata())["field"] = "calls";
  (*info.mutable_metadata())["highest"] = absl::StrCat(limit);
  (*info.mutable_metadata())["flag"] = flag;
  AddDetail("ErrorInfo", info, &details);
  google::protobuf::Duration delay;
  delay.set_seconds(absl::ToInt64Seconds(retry_after));
  delay.set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(retry_after % absl::Seconds(1))));
  google::protobuf::BytesValue retry;
  retry.set_value(delay.SerializeAsString());
  AddDetail("RetryInfo", retry, &details);
  return {grpc::StatusCode::RESOURCE_EXHAUSTED, "calls: too many; try again later", details.SerializeAsString()};
}

std::unique_ptr<Turn> Join(CallGate* gate, absl::Duration timeout = kLong) {
  return std::make_unique<Turn>(gate, timeout);
}

TEST(CallGateTest, TurnsComeInTheOrderOfTheCalls) {
  CallGate gate(1, kLong, true);
  auto first = Join(&gate);
  ASSERT_TRUE(first->Wait().ok());
  std::vector<std::unique_ptr<Turn>> turns;
  for (int i = 0; i < 4; ++i) turns.push_back(Join(&gate));
  std::vector<int> order;  // of one thread at a time, since the gate lets one call in
  std::vector<std::thread> threads;
  for (int i = 3; i >= 0; --i) {
    threads.emplace_back([&turns, &order, i] {
      auto& turn = turns[static_cast<size_t>(i)];
      EXPECT_TRUE(turn->Wait().ok());
      order.push_back(i);
      turn.reset();
    });
  }
  first.reset();
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 3));
}

TEST(CallGateTest, ARefusedCallKeepsItsPlace) {
  CallGate gate(2, kLong, true);
  auto taken = Join(&gate), refused = Join(&gate), later = Join(&gate);
  ASSERT_TRUE(taken->Wait().ok());
  ASSERT_TRUE(refused->Wait().ok());
  EXPECT_TRUE(refused->Refused(FromGrpc(Busy(absl::Hours(1), 2))));
  std::atomic<bool> is_later{false};
  std::thread thread([&] {
    EXPECT_TRUE(later->Wait().ok());
    EXPECT_TRUE(is_later);
    later.reset();
  });
  taken.reset();  // the server takes another call in its place, before the hour is over
  EXPECT_TRUE(refused->Wait().ok());
  is_later = true;
  refused.reset();
  thread.join();
}

TEST(CallGateTest, ARefusedCallWaitsAsLongAsTheServerSays) {
  CallGate gate(8, kLong, true);
  const auto turn = Join(&gate);
  ASSERT_TRUE(turn->Wait().ok());
  const absl::Duration retry_after = absl::Milliseconds(50);
  const absl::Status refusal = FromGrpc(Busy(retry_after, 8));
  EXPECT_EQ(RetryAfterOf(refusal), retry_after);
  const absl::Time begin = SteadyNow();
  ASSERT_TRUE(turn->Refused(refusal));
  EXPECT_TRUE(turn->Wait().ok());
  EXPECT_GE(SteadyNow() - begin, retry_after);
}

TEST(CallGateTest, LearnsTheLimitOfTheServer) {
  for (const bool learns : {true, false}) {
    for (const std::string& flag : {std::string(kCallsFlag), std::string("--max-frame-rate-per-client")}) {
      CallGate gate(8, kLong, learns);
      const auto first = Join(&gate), second = Join(&gate, absl::Milliseconds(20));
      ASSERT_TRUE(first->Wait().ok());
      ASSERT_TRUE(first->Refused(FromGrpc(Busy(absl::ZeroDuration(), 1, flag))));
      ASSERT_TRUE(first->Wait().ok());
      const absl::Status status = second->Wait();
      if (learns && flag == kCallsFlag) {
        EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
        EXPECT_THAT(status.message(), HasSubstr("with 1 under way; this server's limit (--max-detect-calls) is 1"));
      } else {
        EXPECT_TRUE(status.ok()) << status;
      }
    }
  }
}

TEST(CallGateTest, WhoGivesUpLeavesTheLine) {
  CallGate gate(1, kLong, true);
  auto first = Join(&gate), second = Join(&gate, absl::Milliseconds(20)), third = Join(&gate);
  ASSERT_TRUE(first->Wait().ok());
  EXPECT_TRUE(absl::IsDeadlineExceeded(second->Wait()));
  second.reset();
  std::thread thread([&] { EXPECT_TRUE(third->Wait().ok()); });
  first.reset();
  thread.join();
}

TEST(CallGateTest, PatienceEnds) {
  CallGate gate(1, absl::Milliseconds(50), true);
  const auto first = Join(&gate), second = Join(&gate);
  ASSERT_TRUE(first->Wait().ok());
  const absl::Status status = second->Wait();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("calls: no turn within "));
  EXPECT_THAT(status.message(), HasSubstr("with 1 under way; this client's calls_at_once is 1"));
}

TEST(CallGateTest, AnswersRenewThePatience) {
  CallGate gate(1, absl::Seconds(2), true);
  std::vector<std::unique_ptr<Turn>> turns;
  for (int i = 0; i < 6; ++i) turns.push_back(Join(&gate));
  const auto last = Join(&gate);
  absl::Status status;
  std::thread thread([&] { status = last->Wait(); });
  for (std::unique_ptr<Turn>& turn : turns) {
    EXPECT_TRUE(turn->Wait().ok());
    absl::SleepFor(absl::Milliseconds(400));
    turn.reset();
  }
  thread.join();
  EXPECT_TRUE(status.ok()) << status;  // after 2.4 s
}

TEST(CallGateTest, CancelEndsTheLine) {
  CallGate gate(1, kLong, true);
  const auto first = Join(&gate), second = Join(&gate);
  ASSERT_TRUE(first->Wait().ok());
  std::thread thread([&] { EXPECT_TRUE(absl::IsCancelled(second->Wait())); });
  gate.Cancel();
  thread.join();
  EXPECT_TRUE(absl::IsCancelled(Join(&gate)->Wait()));
}

const Image kImage = Flat({64, 64}, 1);

TEST(CallGateTest, AllThreadsOfAClientAreAnswered) {
  FakeServer server;
  constexpr int kPlaces = 2, kThreads = 48;
  std::atomic<int> at_once{0}, calls{0};
  server.on_detect = [&](const v1::DetectRequest& request, v1::DetectResponse* response) {
    const bool is_taken = ++at_once <= kPlaces && ++calls > 5;  // the first ones are refused in any case
    if (is_taken) {
      absl::SleepFor(absl::Milliseconds(2));
      SetKeypoints(static_cast<int>(request.image().raw().width()), response->mutable_features());
    }
    --at_once;
    return is_taken ? grpc::Status::OK : Busy(absl::Milliseconds(5), kPlaces);
  };
  const Client client = server.Connect();
  std::vector<std::thread> threads;
  for (int t = 1; t <= kThreads; ++t) {
    threads.emplace_back([&client, t] {
      const auto found = client.Detect({}, Flat({t, 3}, 1));
      ASSERT_TRUE(found.ok()) << found.status();
      EXPECT_EQ(found->features.count(), static_cast<size_t>(t));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// A server that refuses all calls, and counts them.
struct BusyServer {
  explicit BusyServer(const grpc::Status& refusal) {
    server.on_detect = [this, refusal](const v1::DetectRequest&, v1::DetectResponse*) {
      ++tries;
      return refusal;
    };
  }
  absl::Status Detect(absl::Duration patience, absl::Duration timeout = kLong) {
    ClientOptions options;
    options.patience = patience;
    const auto client = Client::Connect(server.address(), options);
    return client.ok() ? client->Detect({}, kImage, {}, timeout).status() : client.status();
  }

  std::atomic<int> tries{0};
  FakeServer server;
};

TEST(CallGateTest, SaysWhatItHasWaitedFor) {
  BusyServer busy(Busy(absl::Milliseconds(10), 2));
  const absl::Status status = busy.Detect(absl::Seconds(1));
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("calls: no turn within "));
  EXPECT_THAT(status.message(), HasSubstr("with 0 under way; this server's limit (--max-detect-calls) is 2; the last "
                                          "refusal: calls: too many; try again later"));
  const auto info = ErrorInfoOf(status);
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->highest, "2");
  EXPECT_EQ(info->flag, kCallsFlag);
  EXPECT_GT(busy.tries, 1);
}

TEST(CallGateTest, TheTimeoutIsThatOfTheWholeCall) {
  BusyServer busy(Busy(absl::Milliseconds(10), 2));
  const absl::Status status = busy.Detect(kLong, absl::Milliseconds(500));
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
}

TEST(CallGateTest, WithoutPatienceARefusalIsFinal) {
  BusyServer busy(Busy(absl::Milliseconds(10), 2));
  const absl::Status status = busy.Detect(absl::ZeroDuration());
  EXPECT_EQ(status.message(), "calls: too many; try again later");
  EXPECT_EQ(RetryAfterOf(status), absl::Milliseconds(10));
  EXPECT_EQ(busy.tries, 1);
}

TEST(CallGateTest, ALimitOfWhatIsSentIsFinal) {
  BusyServer busy({grpc::StatusCode::RESOURCE_EXHAUSTED, "image: too large"});
  const absl::Status status = busy.Detect(kLong);
  EXPECT_EQ(status, absl::ResourceExhaustedError("image: too large"));
  EXPECT_FALSE(RetryAfterOf(status).has_value());
  EXPECT_EQ(busy.tries, 1);
}

TEST(CallGateTest, OptionsHaveRanges) {
  ClientOptions options;
  options.calls_at_once = 4097;
  EXPECT_EQ(Client::Connect("127.0.0.1:1", options).status().message(), "calls_at_once: 4097 is not in 1..4096");
  options.calls_at_once = 1;
  options.patience = absl::Seconds(-1);
  EXPECT_EQ(Client::Connect("127.0.0.1:1", options).status().message(), "patience: -1s is not in 0s..inf");
}

}  // namespace
}  // namespace glint::client
