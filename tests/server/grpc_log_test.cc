// What gRPC logs goes to the server's log: in its format, limited, and without waiting for the reader.
#include "server/base/grpc_log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <grpc/support/log.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "server/base/log_writer.h"
#include "tests/server/harness.h"

namespace glint::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// A pipe that holds 4 KiB until it is read.
class NarrowPipe {
 public:
  NarrowPipe() {
    EXPECT_EQ(pipe2(ends_, O_NONBLOCK), 0);
    fcntl(ends_[1], F_SETPIPE_SZ, 4096);
  }
  ~NarrowPipe() {
    close(ends_[0]);
    close(ends_[1]);
  }
  int writer() const { return ends_[1]; }
  std::string Read() const {
    std::string all;
    char buffer[4096];
    for (ssize_t n; (n = read(ends_[0], buffer, sizeof(buffer))) > 0;) all.append(buffer, static_cast<size_t>(n));
    return all;
  }

 private:
  int ends_[2] = {-1, -1};
};

class GrpcLogTest : public ::testing::Test {
 protected:
  GrpcLogTest() {
    gpr_log_verbosity_init();  // as by the first use of gRPC: until then nothing is logged
    SendGrpcLogTo(&logger_);
  }
  ~GrpcLogTest() override { SendGrpcLogTo(nullptr); }

  // All lines until `text` is in one.
  std::vector<std::string> LinesUntil(const std::string& text) {
    std::string all;
    EXPECT_TRUE(Eventually([&] {
      all += pipe_.Read();
      return all.find(text) != std::string::npos;
    })) << all;
    return absl::StrSplit(all, '\n', absl::SkipEmpty());
  }

  NarrowPipe pipe_;
  LogWriter writer_{pipe_.writer()};
  Logger logger_{LogFormat::kText, &writer_};
};

TEST_F(GrpcLogTest, IsLimitedAndWaitsForNobody) {
  constexpr int kLines = 10'000;
  for (int i = 0; i < kLines; ++i) gpr_log(GPR_ERROR, "line \"%d\"\nof a peer", i);  // nobody reads meanwhile
  EXPECT_GT(logger_.limited_lines(), kLines / 2);
  logger_.Log(Severity::kInfo, "last");
  const std::vector<std::string> lines = LinesUntil(" info last");
  EXPECT_THAT(lines, SizeIs(::testing::Lt(kLines / 2)));
  EXPECT_THAT(lines, Each(ContainsRegex("^20[0-9-]+T[0-9:.]+Z (info|warning) ")));
  EXPECT_THAT(lines[0], AllOf(HasSubstr(" warning grpc message=\"line \\\"0\\\"\\u000aof a peer\""),
                              HasSubstr(" source=grpc_log_test.cc:")));
}

// gRPC logs every one.
TEST_F(GrpcLogTest, HasTheCallsThatGrpcRefuses) {
  LaneControl control;
  TestServer server(TestOptions(), &control);
  v1::DetectRequest request;
  request.mutable_image()->mutable_encoded()->mutable_data()->resize(5000);
  grpc::ClientContext context;
  context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  v1::DetectResponse response;
  EXPECT_EQ(server.stub()->Detect(&context, request, &response).error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_THAT(LinesUntil("gzip"), Each(HasSubstr(" warning grpc message=")));
}

}  // namespace
}  // namespace glint::testing
