// Flags, addresses, the log and the conversion of options: what becomes of what users write.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "glint/v1/options.pb.h"
#include "server/base/log.h"
#include "server/config/flags.h"
#include "server/wire/convert.h"

namespace glint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<CommandLine> Parse(const std::vector<std::string>& arguments,
                                  const std::map<std::string, std::string>& environment = {}) {
  return ParseFlags(arguments, [&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

std::string ErrorOf(const std::vector<std::string>& arguments,
                    const std::map<std::string, std::string>& environment = {}) {
  return std::string(Parse(arguments, environment).status().message());
}

class FlagFile {
 public:
  explicit FlagFile(const std::string& text) : path_(absl::StrCat(::testing::TempDir(), "glint-flags-", getpid())) {
    std::ofstream(path_) << text;
  }
  ~FlagFile() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

TEST(FlagsTest, DefaultsAreThoseOfServerOptions) {
  const auto parsed = Parse({});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  const ServerOptions defaults;
  EXPECT_EQ(parsed->options.listen, defaults.listen);
  EXPECT_THAT(parsed->options.listen, ElementsAre("127.0.0.1:50051"));  // loopback: see docs/server.md
  EXPECT_EQ(parsed->options.metrics_listen, "127.0.0.1:9464");
  EXPECT_EQ(parsed->options.max_sessions, defaults.max_sessions);
  EXPECT_EQ(parsed->options.lanes.gpu_wait, GpuWait::kAdaptive);
  EXPECT_EQ(parsed->options.lanes.jpeg, JpegDecoding::kAuto);
  EXPECT_FALSE(parsed->help);
}

TEST(FlagsTest, EveryFlagArrives) {
  const auto parsed = Parse({"--listen=0.0.0.0:1",
                             "--listen",
                             "unix:/a,[::1]:2",
                             "--metrics-listen=",
                             "--backend=cuda",
                             "--devices=3,1",
                             "--lane-cpus=4-5,2",
                             "--completion-cpus=0",
                             "--cpu-dma-latency=20",
                             "--lanes=4",
                             "--threads-per-lane=5",
                             "--gpu-wait=spin",
                             "--jpeg=gpu",
                             "--queue-capacity=6",
                             "--max-image-pixels=7",
                             "--max-features=8",
                             "--max-message-bytes=9999",
                             "--max-pending-bytes=12345",
                             "--max-sessions=10",
                             "--max-in-flight=11",
                             "--max-detect-calls=12",
                             "--detect-receive-timeout=250ms",
                             "--detect-reply-timeout=350ms",
                             "--max-small-calls=13",
                             "--small-call-timeout=750ms",
                             "--max-watchers=14",
                             "--reflection=loopback",
                             "--calibration-directory=/",
                             "--drain-timeout=1.5s",
                             "--log-format=json"});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  const ServerOptions& o = parsed->options;
  EXPECT_THAT(o.listen, ElementsAre("0.0.0.0:1", "unix:/a", "[::1]:2"));
  EXPECT_EQ(o.metrics_listen, "");
  EXPECT_EQ(o.lanes.backend, Backend::kCuda);
  EXPECT_THAT(o.lanes.devices, ElementsAre(3, 1));
  EXPECT_THAT(o.lane_cpus, ElementsAre(2, 4, 5));
  EXPECT_THAT(o.completion_cpus, ElementsAre(0));
  EXPECT_EQ(o.cpu_dma_latency_us, 20);
  EXPECT_EQ(o.lanes.lanes, 4);
  EXPECT_EQ(o.lanes.threads_per_lane, 5);
  EXPECT_EQ(o.lanes.gpu_wait, GpuWait::kSpin);
  EXPECT_EQ(o.lanes.jpeg, JpegDecoding::kGpu);
  EXPECT_EQ(o.queue_capacity, 6);
  EXPECT_EQ(o.lanes.max_image_pixels, 7);
  EXPECT_EQ(o.max_features, 8);
  EXPECT_EQ(o.max_message_bytes, 9999);
  EXPECT_EQ(o.max_pending_bytes, 12345);
  EXPECT_EQ(o.max_sessions, 10);
  EXPECT_EQ(o.max_in_flight, 11);
  EXPECT_EQ(o.max_detect_calls, 12);
  EXPECT_EQ(o.detect_receive_timeout, absl::Milliseconds(250));
  EXPECT_EQ(o.detect_reply_timeout, absl::Milliseconds(350));
  EXPECT_EQ(o.max_small_calls, 13);
  EXPECT_EQ(o.small_call_timeout, absl::Milliseconds(750));
  EXPECT_EQ(o.max_watchers, 14);
  EXPECT_EQ(o.reflection, Reflection::kLoopback);
  EXPECT_EQ(o.calibration_directory, "/");
  EXPECT_EQ(o.drain_timeout, absl::Milliseconds(1500));
  EXPECT_EQ(o.log_format, LogFormat::kJson);
}

TEST(FlagsTest, FileOverridesEnvironmentAndCommandLineOverridesBoth) {
  const FlagFile file("# cameras of hall 3\nmax-sessions=5\n  --listen=127.0.0.1:5\n\nlanes = 2\n");
  EXPECT_THAT(ErrorOf({"--flagfile", file.path()}), HasSubstr("there is no flag --lanes "));
  const FlagFile good("# cameras of hall 3\nmax-sessions=5\n  --listen=127.0.0.1:5\n\nlanes=2\n");
  const auto parsed = Parse({"--flagfile=" + good.path(), "--lanes=3"},
                            {{"GLINT_MAX_SESSIONS", "9"}, {"GLINT_MAX_IN_FLIGHT", "2"}, {"GLINT_LISTEN", "1.2.3.4:5"}});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->options.max_sessions, 5);
  EXPECT_EQ(parsed->options.max_in_flight, 2);
  EXPECT_EQ(parsed->options.lanes.lanes, 3);
  EXPECT_THAT(parsed->options.listen, ElementsAre("127.0.0.1:5"));
}

TEST(FlagsTest, BadValuesAreNamed) {
  EXPECT_EQ(ErrorOf({"--lanes=many"}), "lanes: \"many\" is not a whole number in range");
  EXPECT_EQ(ErrorOf({"--lanes=99999999999"}), "lanes: \"99999999999\" is not a whole number in range");
  EXPECT_EQ(ErrorOf({"--lanes=-1"}), "lanes: -1 is not in 0..1024");
  EXPECT_EQ(ErrorOf({"--max-features=65537"}), "max-features: 65537 is not in 1..65536");
  EXPECT_EQ(ErrorOf({"--queue-capacity=0"}), "queue-capacity: 0 is not in 1..65536");
  EXPECT_EQ(ErrorOf({"--max-message-bytes=1"}), "max-message-bytes: 1 is not in 1024..2147483647");
  EXPECT_EQ(ErrorOf({"--max-pending-bytes=2000", "--max-message-bytes=2001"}),
            "max-pending-bytes: 2000 is not in 2001..9223372036854775807");
  EXPECT_EQ(ErrorOf({"--max-map-bytes=16777215"}), "max-map-bytes: 16777215 is not in 16777216..1099511627776");
  EXPECT_EQ(ErrorOf({"--max-rectification-bytes=-1"}), "max-rectification-bytes: -1 is not in 0..1099511627776");
  EXPECT_EQ(ErrorOf({"--calibration-directory=/none/such"}),
            "calibration-directory: \"/none/such\" is no directory that can be read");
  EXPECT_EQ(ErrorOf({"--memory-limit=1"}), "memory-limit: 1 is not in 67108864..9223372036854775807");
  EXPECT_EQ(ErrorOf({"--devices=0,x"}), "devices: \"0,x\" is neither all nor numbers like 0,1");
  EXPECT_EQ(ErrorOf({"--devices=-1"}), "devices: -1 is not in 0..1023");
  EXPECT_EQ(ErrorOf({"--devices=1,1"}), "devices: 1 is there twice");
  EXPECT_EQ(ErrorOf({"--lane-cpus=a"}), "lane-cpus: \"a\" is no list of processors like 0-3,8");
  EXPECT_EQ(ErrorOf({"--completion-cpus=0-1024"}), "completion-cpus: 1024 is not in 0..1023");
  EXPECT_EQ(ErrorOf({"--cpu-dma-latency=-2"}), "cpu-dma-latency: -2 is not in -1..1000000");
  EXPECT_EQ(ErrorOf({"--backend=gpu"}), "backend: \"gpu\" is not one of auto, cpu, cuda");
  EXPECT_EQ(ErrorOf({"--drain-timeout=soon"}), "drain-timeout: \"soon\" is not a duration like 10s or 500ms");
  EXPECT_EQ(ErrorOf({"--drain-timeout=-1s"}), "drain-timeout: -1s is not in 0..24h");
  EXPECT_EQ(ErrorOf({"--max-small-calls=0"}), "max-small-calls: 0 is not in 1..65536");
  EXPECT_EQ(ErrorOf({"--max-watchers=0"}), "max-watchers: 0 is not in 1..1048576");
  EXPECT_EQ(ErrorOf({"--small-call-timeout=0"}), "small-call-timeout: 0 is not in 1ms..24h");
  EXPECT_EQ(ErrorOf({"--reflection=maybe"}), "reflection: \"maybe\" is not one of on, loopback, off");
  EXPECT_EQ(ErrorOf({"--detect-receive-timeout=0"}), "detect-receive-timeout: 0 is not in 1ms..24h");
  EXPECT_EQ(ErrorOf({"--detect-reply-timeout=25h"}), "detect-reply-timeout: 25h is not in 1ms..24h");
  EXPECT_EQ(ErrorOf({"--max-sessions-per-peer=-1"}), "max-sessions-per-peer: -1 is not in 0..65536");
  EXPECT_EQ(ErrorOf({"--stream-first-message-timeout=0"}), "stream-first-message-timeout: 0 is not in 1ms..24h");
  EXPECT_EQ(ErrorOf({"--stream-idle-timeout=25h"}), "stream-idle-timeout: 25h is not in 1ms..24h");
  EXPECT_EQ(ErrorOf({"--connection-idle-timeout=999ms"}), "connection-idle-timeout: 999ms is not in 1s..24h, or inf");
  EXPECT_EQ(ErrorOf({"--max-connections=0"}), "max-connections: 0 is not in 1..65536");
  EXPECT_EQ(ErrorOf({"--max-connections-per-peer=-1"}), "max-connections-per-peer: -1 is not in 0..65536");
  EXPECT_EQ(ErrorOf({"--connection-max-age=-inf"}), "connection-max-age: -inf is not in 1s..24h, or inf");
  EXPECT_EQ(ErrorOf({"--connection-age-grace=0"}), "connection-age-grace: 0 is not in 1s..24h, or inf");
  EXPECT_EQ(ErrorOf({"--keepalive-time=inf"}), "keepalive-time: inf is not in 1s..24h");
  EXPECT_EQ(ErrorOf({"--keepalive-timeout=10ms"}), "keepalive-timeout: 10ms is not in 1s..24h");
  EXPECT_EQ(ErrorOf({"--lane-timeout=0"}), "lane-timeout: 0 is not in 1ms..24h");
  EXPECT_EQ(ErrorOf({"--lane-grace=-1s"}), "lane-grace: -1s is not in 1ms..24h, or inf");
  EXPECT_EQ(ErrorOf({"--listen=50051"}), "listen: \"50051\" is not HOST:PORT with a port in 0..65535");
  EXPECT_EQ(ErrorOf({"--listen=localhost:http"}),
            "listen: \"localhost:http\" is not HOST:PORT with a port in 0..65535");
  EXPECT_EQ(ErrorOf({"--listen=localhost:65536"}),
            "listen: \"localhost:65536\" is not HOST:PORT with a port in 0..65535");
  EXPECT_EQ(ErrorOf({"--listen=a,"}), "listen: \"a\" is not HOST:PORT with a port in 0..65535");
  EXPECT_EQ(ErrorOf({"--listen=::1:80"}), "listen: \"::1:80\" is not HOST:PORT with a port in 0..65535");
  EXPECT_THAT(ErrorOf({"--listen=unix:"}), HasSubstr("is not unix:PATH with a path of 1..107 bytes"));
  EXPECT_THAT(ErrorOf({"--listen=unix:/" + std::string(107, 'x')}), HasSubstr("is not unix:PATH"));
  EXPECT_EQ(ErrorOf({"--metrics-listen=unix:/x"}),
            "metrics-listen: \"unix:/x\" is not HOST:PORT with a port in 0..65535");
  EXPECT_EQ(ErrorOf({"--lanes"}), "lanes: needs a value");
  EXPECT_EQ(ErrorOf({"--colour=red"}), "there is no flag --colour; see --help");
  EXPECT_EQ(ErrorOf({"serve"}), "\"serve\" is not a flag; see --help");
  EXPECT_EQ(ErrorOf({"--flagfile=/no/such"}), "flagfile: cannot read /no/such");
  EXPECT_EQ(ErrorOf({}, {{"GLINT_LANES", "x"}}), "GLINT_LANES: lanes: \"x\" is not a whole number in range");
  const FlagFile file("lanes=x\n");
  EXPECT_EQ(ErrorOf({"--flagfile=" + file.path()}), file.path() + ": lanes: \"x\" is not a whole number in range");
}

TEST(FlagsTest, LimitsOfSilence) {
  const auto parsed =
      Parse({"--max-sessions-per-peer=7", "--stream-first-message-timeout=2s", "--stream-idle-timeout=1m",
             "--max-connections=100", "--max-connections-per-peer=60", "--connection-idle-timeout=inf",
             "--connection-max-age=1h", "--connection-age-grace=5m", "--keepalive-time=20s", "--keepalive-timeout=5s",
             "--lane-timeout=2m", "--lane-grace=inf"});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  const ServerOptions& o = parsed->options;
  EXPECT_EQ(o.max_sessions_per_peer, 7);
  EXPECT_EQ(o.stream_first_message_timeout, absl::Seconds(2));
  EXPECT_EQ(o.stream_idle_timeout, absl::Minutes(1));
  EXPECT_EQ(o.connections.max_connections, 100);
  EXPECT_EQ(o.connections.connections_per_peer(), 60);
  EXPECT_EQ(ConnectionOptions().connections_per_peer(), 384) << "three quarters";
  EXPECT_EQ(o.connections.idle_timeout, absl::InfiniteDuration());
  EXPECT_EQ(o.connections.max_age, absl::Hours(1));
  EXPECT_EQ(o.connections.age_grace, absl::Minutes(5));
  EXPECT_EQ(o.connections.keepalive_time, absl::Seconds(20));
  EXPECT_EQ(o.connections.keepalive_timeout, absl::Seconds(5));
  EXPECT_EQ(o.lane_timeout, absl::Minutes(2));
  EXPECT_EQ(o.lane_grace, absl::InfiniteDuration());
}

TEST(FlagsTest, AFlagFileThatIncludesItselfIsAnError) {
  const FlagFile file("");
  std::ofstream(file.path()) << "flagfile=" << file.path() << "\n";
  EXPECT_THAT(ErrorOf({"--flagfile=" + file.path()}), HasSubstr("nests"));
}

TEST(FlagsTest, HelpNamesEveryFlagAndItsDefault) {
  EXPECT_TRUE(Parse({"--help"})->help);
  EXPECT_TRUE(Parse({"-h"})->help);
  EXPECT_TRUE(Parse({"--version"})->version);
  const std::string help = FlagsHelp();
  for (const char* flag : {"listen",
                           "metrics-listen",
                           "backend",
                           "devices",
                           "lanes",
                           "threads-per-lane",
                           "gpu-wait",
                           "jpeg",
                           "queue-capacity",
                           "max-image-pixels",
                           "max-features",
                           "max-message-bytes",
                           "max-pending-bytes",
                           "max-detect-calls",
                           "detect-receive-timeout",
                           "detect-reply-timeout",
                           "max-small-calls",
                           "small-call-timeout",
                           "max-watchers",
                           "reflection",
                           "max-sessions",
                           "max-sessions-per-peer",
                           "stream-first-message-timeout",
                           "stream-idle-timeout",
                           "max-connections",
                           "max-connections-per-peer",
                           "connection-idle-timeout",
                           "connection-max-age",
                           "connection-age-grace",
                           "keepalive-time",
                           "keepalive-timeout",
                           "lane-timeout",
                           "lane-grace",
                           "max-in-flight",
                           "drain-timeout",
                           "log-format",
                           "flagfile"}) {
    EXPECT_THAT(help, HasSubstr(absl::StrCat("  --", flag, "=")));
  }
  EXPECT_THAT(help, HasSubstr("--drain-timeout=DURATION (10s)"));
  EXPECT_THAT(help, HasSubstr("--memory-limit=N (0)"));
}

TEST(LogTest, OneLineForPeopleOrMachines) {
  const absl::Time time = absl::FromUnixMillis(1700000000123);
  EXPECT_EQ(FormatLogLine(LogFormat::kText, time, Severity::kInfo, "serving",
                          {{"backend", "cpu"}, {"device", "AMD EPYC"}, {"note", ""}}),
            "2023-11-14T22:13:20.123Z info serving backend=cpu device=\"AMD EPYC\"");
  EXPECT_EQ(FormatLogLine(LogFormat::kJson, time, Severity::kError, "failed", {{"error", "a \"b\"\n\\"}, {"x", ""}}),
            "{\"time\":\"2023-11-14T22:13:20.123Z\",\"severity\":\"error\",\"event\":\"failed\","
            "\"error\":\"a \\\"b\\\"\\u000a\\\\\"}");
  // Nobody forges a line.
  EXPECT_EQ(FormatLogLine(LogFormat::kText, time, Severity::kWarning, "e", {{"v", "x\n2023 info"}}),
            "2023-11-14T22:13:20.123Z warning e v=\"x\\u000a2023 info\"");
}

TEST(ConvertTest, AbsentOptionsAreThePreset) {
  EXPECT_EQ(*FromProto(v1::DetectorOptions(), kMaxFeatures), *PresetOptions("orb"));
  v1::DetectorOptions proto;
  for (const std::string& name : PresetNames()) {
    proto.set_preset(name);
    EXPECT_EQ(*FromProto(proto, kMaxFeatures), *PresetOptions(name)) << name;
  }
}

TEST(ConvertTest, APresetIsLoweredToTheServersLimit) {
  EXPECT_EQ(FromProto(v1::DetectorOptions(), 100)->max_features, 100);
}

TEST(ConvertTest, EveryFieldReplacesThePresets) {
  v1::DetectorOptions proto;
  proto.set_preset("orb");
  proto.set_pyramid(v1::PYRAMID_KIND_CASCADED);
  proto.set_levels(3);
  proto.set_scale_factor(1.5f);
  proto.set_corner_test(v1::CORNER_TEST_FAST);
  proto.set_fast_threshold(7);
  proto.set_arc_length(12);
  proto.set_score(v1::SCORE_HARRIS);
  proto.set_selection(v1::SELECTION_TOP_N);
  proto.set_ranking(v1::RANKING_SCORE);
  proto.set_max_features(77);
  proto.set_edge_threshold(0);
  proto.set_orientation(v1::ORIENTATION_NONE);
  proto.set_descriptor_kind(v1::DESCRIPTOR_NONE);
  proto.set_max_arc(14);
  proto.set_patch_size(21);
  DetectorOptions expected;
  expected.levels = 3;
  expected.scale_factor = 1.5f;
  expected.fast_threshold = 7;
  expected.arc_length = 12;
  expected.score = Score::kHarris;
  expected.ranking = Ranking::kScore;
  expected.max_features = 77;
  expected.edge_threshold = 0;
  expected.orientation = Orientation::kNone;
  expected.descriptor = Descriptor::kNone;
  expected.max_arc = 14;
  expected.patch_size = 21;
  const auto options = FromProto(proto, kMaxFeatures);
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(*options, expected);
}

TEST(ConvertTest, EveryFieldOfTheOtherDetectorsReplacesThePresets) {
  v1::DetectorOptions proto;
  proto.set_preset("harris");
  proto.set_pyramid(v1::PYRAMID_KIND_DIRECT);
  proto.set_suppression_radius(3);
  proto.set_smooth(true);
  proto.set_harris_block(9);
  proto.set_harris_k(0.06f);
  proto.set_cell_width(40);
  proto.set_cell_height(50);
  proto.set_aggregation_window(5);
  proto.set_response_threshold(0.002f);
  proto.set_threshold_unit(v1::THRESHOLD_UNIT_ABSOLUTE);
  proto.set_bfrost_scale(2);
  DetectorOptions expected = *PresetOptions("harris");
  expected.pyramid = Pyramid::kDirect;
  expected.suppression_radius = 3;
  expected.smooth = true;
  expected.harris_block = 9;
  expected.harris_k = 0.06f;
  expected.cell_width = 40;
  expected.cell_height = 50;
  expected.aggregation_window = 5;
  expected.response_threshold = 0.002f;
  expected.threshold_unit = ThresholdUnit::kAbsolute;
  expected.bfrost_scale = 2;
  const auto options = FromProto(proto, kMaxFeatures);
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(*options, expected);
}

TEST(ConvertTest, OrbslamHasThresholdsOfItsOwn) {
  v1::DetectorOptions proto;
  proto.set_preset("orbslam");
  proto.set_ini_fast_threshold(31);
  proto.set_min_fast_threshold(11);
  DetectorOptions expected = *PresetOptions("orbslam");
  expected.ini_fast_threshold = 31;
  expected.min_fast_threshold = 11;
  const auto options = FromProto(proto, kMaxFeatures);
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(*options, expected);
  // Every choice by itself makes the preset, too.
  proto = {};
  proto.set_selection(v1::SELECTION_QUADTREE);
  proto.set_ranking(v1::RANKING_SCORE);
  proto.set_edge_threshold(19);
  proto.set_max_features(1000);
  EXPECT_EQ(FromProto(proto, kMaxFeatures).value(), *PresetOptions("orbslam"));
}

TEST(ConvertTest, StatusCodesKeepTheirNumbers) {
  for (int code = 1; code <= 16; ++code) {
    const grpc::Status status = ToGrpc(absl::Status(static_cast<absl::StatusCode>(code), "text"));
    EXPECT_EQ(static_cast<int>(status.error_code()), code);
    EXPECT_EQ(status.error_message(), "text");
  }
  EXPECT_TRUE(ToGrpc(absl::OkStatus()).ok());
}

}  // namespace
}  // namespace glint
