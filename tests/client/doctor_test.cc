// glint doctor: each of its checks with a fault, on a stand-in /proc, /sys and /etc; its digests against the reference.
#include <grpcpp/channel.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/base/command.h"
#include "client/cli/doctor/exactness.h"
#include "client/cli/doctor/machine.h"
#include "features/reference/matcher.h"
#include "features/reference/reference.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cpu/simd.h"

namespace glint::cli {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kNoDriver[] = "no usable CUDA device: no NVIDIA driver found; cudaErrorInsufficientDriver";

ServerOptions SmallServer() {
  ServerOptions options;
  options.lanes.backend = Backend::kCpu;
  options.lanes.lanes = 1;
  options.listen = {"127.0.0.1:0"};
  options.metrics_listen.clear();
  return options;
}

// A folder that stands for /.
struct DoctorTest : ::testing::Test {
  DoctorTest() {
    std::filesystem::remove_all(machine.root);
    Put("proc/meminfo",
        "MemTotal: 67108864 kB\nMemAvailable: 33554432 kB\nHugePages_Total: 0\nHugepagesize: 2048 kB\n");
    machine.gpus = absl::FailedPreconditionError(kNoDriver);
  }
  ~DoctorTest() override { std::filesystem::remove_all(machine.root); }

  void Put(const std::string& path, const std::string& text) {
    const std::filesystem::path file = machine.root + "/" + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void MakeServer(const ServerOptions& options) {
    machine.options = options;
    machine.server = Server::Create(options);
  }
  void BeJetson() { Put("etc/nv_tegra_release", "# R39 (release), REVISION: 2.0, GCID: 1, BOARD: generic"); }

  Machine machine{absl::StrCat(::testing::TempDir(), "glint-doctor-", getpid()), {}};
};

void ExpectFinding(const Finding& finding, State state, const std::string& words, const std::string& remedy) {
  EXPECT_EQ(finding.state, state) << finding.figure;
  EXPECT_THAT(finding.words, HasSubstr(words));
  EXPECT_THAT(finding.remedy, HasSubstr(remedy));
}

TEST_F(DoctorTest, LaptopLacksWhatItDoesNotNeed) {
  for (const auto check : {CheckGpu, CheckDriver, CheckL4t, CheckPowerMode, CheckClocks, CheckThrottling}) {
    const Finding finding = check(machine);
    EXPECT_EQ(finding.state, State::kAbsent) << finding.figure;
  }
}

TEST_F(DoctorTest, GpuWithoutDriverIsWrong) {
  Put("sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de\n");
  Put("sys/bus/pci/devices/0000:01:00.0/class", "0x040300\n");  // its sound
  EXPECT_EQ(CheckGpu(machine).state, State::kAbsent);
  Put("sys/bus/pci/devices/0000:01:00.0/class", "0x030000\n");
  ExpectFinding(CheckGpu(machine), State::kWrong, "no NVIDIA driver found", "nvidia-smi");
  ExpectFinding(CheckDriver(machine), State::kWrong, "no module", "modprobe");
  Put(".dockerenv", "");
  ExpectFinding(CheckGpu(machine), State::kWrong, "no NVIDIA driver found", "--gpus all");
  machine.gpus = absl::FailedPreconditionError("built without CUDA");
  ExpectFinding(CheckGpu(machine), State::kWrong, "built without CUDA", "package with CUDA");
  machine.options.lanes.backend = Backend::kCpu;
  EXPECT_EQ(CheckGpu(machine).state, State::kAbsent);
  Put("proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65\nGCC\n");
  EXPECT_THAT(CheckDriver(machine).figure, EndsWith("580.65"));
}

TEST_F(DoctorTest, GpuThatIsAskedForMustBeThere) {
  machine.options.lanes.backend = Backend::kCuda;
  ExpectFinding(CheckGpu(machine), State::kWrong, "no NVIDIA driver found", "");
  machine.gpus = LaneSet();
  machine.gpus->device = "one of two";
  EXPECT_EQ(CheckGpu(machine).state, State::kOk);
  machine.gpus->note = "without device 1: lost";
  ExpectFinding(CheckGpu(machine), State::kWrong, "without device 1: lost", "--devices");
}

TEST_F(DoctorTest, JetsonTellsItsReleaseAndMode) {
  Put("proc/device-tree/compatible", "nvidia,p3768-0000+p3767-0005-superX" + std::string("nvidia,tegra234"));
  ExpectFinding(CheckL4t(machine), State::kNote, "/etc/nv_tegra_release", "mount");
  ExpectFinding(CheckPowerMode(machine), State::kNote, "cannot be read", "nvpmodel -q");
  BeJetson();
  EXPECT_EQ(CheckL4t(machine).figure, "R39.2.0");
  EXPECT_EQ(CheckL4t(machine).state, State::kOk);
  Put("etc/nv_tegra_release", "# R36 (release), REVISION: 4.3, GCID: 1");
  ExpectFinding(CheckL4t(machine), State::kNote, "older than JetPack 7", "jetson.md");
  Put("etc/nv_tegra_release", "something");
  ExpectFinding(CheckL4t(machine), State::kNote, "not the form", "");

  Put("var/lib/nvpmodel/status", "pmode:0001");
  EXPECT_EQ(CheckPowerMode(machine).figure, "1");  // no catalogue
  Put("etc/nvpmodel.conf",
      "< POWER_MODEL ID=0 NAME=15W >\n< POWER_MODEL ID=1 NAME=25W >\n< POWER_MODEL ID=2 NAME=MAXN_SUPER >\n");
  ExpectFinding(CheckPowerMode(machine), State::kNote, "MAXN_SUPER", "nvpmodel -m 2");
  EXPECT_EQ(CheckPowerMode(machine).figure, "1 25W");
  Put("var/lib/nvpmodel/status", "pmode:0002");
  EXPECT_EQ(CheckPowerMode(machine).state, State::kOk);
}

TEST_F(DoctorTest, ClocksHeldDownAreTold) {
  Put("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "2201600\n");
  Put("sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq", "2201600\n");
  Put("sys/class/devfreq/17000000.gpu/available_frequencies", "306000000 612000000 1020000000\n");
  Put("sys/class/devfreq/17000000.gpu/max_freq", "1020000000\n");
  EXPECT_EQ(CheckClocks(machine).figure, "up to 2.2 GHz");
  EXPECT_EQ(CheckClocks(machine).state, State::kOk);
  Put("sys/class/devfreq/17000000.gpu/max_freq", "612000000\n");
  ExpectFinding(CheckClocks(machine), State::kNote, "may not rise", "cpupower");
  EXPECT_EQ(CheckClocks(machine).figure, "17000000.gpu: 0.61 GHz of 1.02 GHz");
  BeJetson();
  ExpectFinding(CheckClocks(machine), State::kNote, "may not rise", "jetson_clocks");
}

TEST_F(DoctorTest, ThrottlingIsWrong) {
  Put("sys/class/thermal/cooling_device0/type", "pwm-fan\n");
  Put("sys/class/thermal/cooling_device0/cur_state", "3\n");
  EXPECT_EQ(CheckThrottling(machine).state, State::kAbsent);
  Put("sys/class/thermal/cooling_device1/type", "gpu-throttle-alert\n");
  Put("sys/class/thermal/cooling_device1/cur_state", "0\n");
  Put("sys/class/hwmon/hwmon3/oc1_event_cnt", "0\n");
  EXPECT_EQ(CheckThrottling(machine).state, State::kOk);
  Put("sys/class/hwmon/hwmon3/oc3_event_cnt", "7\n");
  Put("sys/class/hwmon/hwmon3/oc3_throt_en", "1\n");
  ExpectFinding(CheckThrottling(machine), State::kNote, "held the clocks down", "supply");
  EXPECT_THAT(CheckThrottling(machine).figure, HasSubstr("7 events"));
  Put("sys/class/thermal/cooling_device1/cur_state", "1\n");
  ExpectFinding(CheckThrottling(machine), State::kWrong, "by heat", "cool");
  EXPECT_EQ(CheckThrottling(machine).figure, "gpu-throttle-alert at 1");
}

TEST_F(DoctorTest, LowMemoryIsWrong) {
  EXPECT_EQ(CheckMemory(machine).state, State::kAbsent);  // without a server
  MakeServer(SmallServer());
  ASSERT_TRUE(machine.server.ok()) << machine.server.status();
  EXPECT_EQ(CheckMemory(machine).state, State::kOk) << CheckMemory(machine).figure;
  Put("proc/meminfo", "MemTotal: 67108864 kB\nMemAvailable: 65536 kB\n");
  ExpectFinding(CheckMemory(machine), State::kNote, "less memory is free", "end other programs");
  Put("proc/self/cgroup", "0::/user.slice/ada\n");
  Put("sys/fs/cgroup/user.slice/ada/memory.max", "536870912\n");
  ExpectFinding(CheckMemory(machine), State::kWrong, "memory.max is 512 MiB; most by", "lower these flags");
  EXPECT_THAT(CheckMemory(machine).words, AllOf(HasSubstr("--max-sessions"), Not(HasSubstr("ada"))));
}

TEST_F(DoctorTest, ControlGroupsAreTold) {
  MakeServer(SmallServer());
  Put("proc/self/cgroup", "0::/\n");
  Put("sys/fs/cgroup/cpu.max", "50000 100000\n");
  ExpectFinding(CheckProcessors(machine), State::kNote, "less than one processor", "--cpus=1");
  Put("sys/fs/cgroup/pids.max", "20\n");
  Put("sys/fs/cgroup/pids.current", "5\n");
  ExpectFinding(CheckThreads(machine), State::kWrong, "more threads", "--pids-limit");
  Put("sys/fs/cgroup/pids.max", "4096\n");
  EXPECT_EQ(CheckThreads(machine).state, State::kOk) << CheckThreads(machine).figure;
}

TEST_F(DoctorTest, ReservedHugePagesAreTold) {
  Put("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  EXPECT_EQ(CheckHugePages(machine).figure, "transparent: always [madvise] never; reserved: 0 MiB");
  Put("proc/meminfo", "HugePages_Total: 512\nHugepagesize: 2048 kB\n");
  ExpectFinding(CheckHugePages(machine), State::kNote, "lost", "vm.nr_hugepages");
  EXPECT_THAT(CheckHugePages(machine).figure, EndsWith("reserved: 1024 MiB"));
  EXPECT_EQ(CheckSharedMemory(machine).state, State::kOk);
}

TEST_F(DoctorTest, PortsInUseAreWrongUnlessGlintHasThem) {
  auto running = Server::Create(SmallServer());
  ASSERT_TRUE(running.ok() && (*running)->Start().ok());
  machine.options.listen = (*running)->addresses();
  machine.options.metrics_listen.clear();
  ExpectFinding(CheckPorts(machine), State::kNote, "a Glint server runs here", "glint info");

  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(fd, 1), 0);
  ASSERT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::string port = absl::StrCat(ntohs(address.sin_port));
  machine.options.listen = {"127.0.0.1:0"};
  machine.options.metrics_listen = "127.0.0.1:" + port;
  Finding finding = CheckPorts(machine);
  ExpectFinding(finding, State::kWrong, "cannot be listened on", "ss -ltnp");
  EXPECT_EQ(finding.figure, "port " + port);
  finding.name = "ports";
  EXPECT_THAT(Text({finding}), AllOf(HasSubstr("127.0.0.1:" + port), EndsWith("Wrong: ports\n")));
  EXPECT_THAT(Json({finding}, /*is_report=*/false), HasSubstr("127.0.0.1"));
  EXPECT_THAT(Json({finding}, /*is_report=*/true), AllOf(HasSubstr("\"well\":false"), Not(HasSubstr("127.0.0.1"))));
  close(fd);
}

TEST_F(DoctorTest, ServerThatCannotBeMadeIsWrong) {
  ServerOptions options = SmallServer();
  options.access_file = machine.root + "/not-there";
  options.max_features = 0;
  MakeServer(options);
  ExpectFinding(CheckServer(machine), State::kWrong, "cannot be made", "change the flag");
  EXPECT_THAT(CheckServer(machine).own, HasSubstr("max-features"));
}

TEST_F(DoctorTest, ReportsAreWholeAndTheExitStatusSaysIt) {
  const std::string report = machine.root + "/report.json";
  const std::vector<std::string> arguments = {"--root",   machine.root,           "--report",          report,
                                              "--",       "--listen=127.0.0.1:0", "--metrics-listen=", "--backend=cpu",
                                              "--lanes=1"};
  EXPECT_EQ(RunDoctor(arguments), kOk);
  std::ifstream file(report);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_THAT(text, AllOf(HasSubstr("\"well\":true"), HasSubstr("\"cpu localize\""), Not(HasSubstr(machine.root))));

  BeJetson();  // and nothing of it works
  std::vector<std::string> with_gpu = arguments;
  with_gpu[7] = "--backend=auto";
  EXPECT_EQ(RunDoctor(with_gpu), kFailed);
  EXPECT_EQ(RunDoctor({"--", "--lanes=x"}), kUsage);
}

struct ExactnessTest : ::testing::Test {
  void SetUp() override {
    auto started = StartLane(Backend::kCpu, 0);
    ASSERT_TRUE(started.ok()) << started.status();
    server = *std::move(started);
  }
  std::vector<Finding> Check(const std::vector<ExpectedDigest>& expected) {
    return CheckLane("cpu", client::Client(server->InProcessChannel()), pictures, expected);
  }

  const RenderedPictures pictures;
  std::unique_ptr<Server> server;
};

TEST_F(ExactnessTest, TheTableHasAllWork) {
  std::vector<std::string> names;
  for (const ExpectedDigest& expected : ExpectedDigests()) names.push_back(expected.work);
  EXPECT_EQ(names, NamesOfWork());
}

TEST_F(ExactnessTest, EverySimdLevelGivesTheExpectedDigests) {
  for (const std::string& target : glint::testing::TargetNames()) {
    const glint::testing::ForcedSimd simd(target);
    server.reset();
    SetUp();
    for (const Finding& finding : Check(ExpectedDigests())) {
      EXPECT_EQ(finding.state, State::kOk) << target << " " << finding.name << ": " << finding.words;
    }
  }
}

TEST_F(ExactnessTest, AWrongDigestIsNamed) {
  std::vector<ExpectedDigest> expected = ExpectedDigests();
  const std::string right = expected[2].digest;
  expected[2].digest[5] ^= 1;
  const std::vector<Finding> findings = Check(expected);
  EXPECT_EQ(NamesOf(findings, State::kWrong), "cpu " + expected[2].work);
  EXPECT_THAT(findings[2].figure, HasSubstr(right));
  EXPECT_THAT(findings[2].words, HasSubstr(expected[2].digest));
  ExpectFinding(Check({{"nothing", ""}}).at(0), State::kWrong, "no work is called 'nothing'", "--report");
}

TEST_F(ExactnessTest, DigestsAreThoseOfTheReference) {
  std::vector<ExpectedDigest> expected;
  for (const std::string& preset : PresetNames()) {
    Digest digest;
    digest.Add(reference::Detect(*PresetOptions(preset), pictures.odd_part(), {}));
    digest.Add(reference::Detect(*PresetOptions(preset), pictures.left(0), {}));
    expected.push_back({"detect " + preset, digest.Text()});
  }
  const DetectorOptions orb = client::MatchSettings().detector;
  const Features query = reference::Detect(orb, pictures.left(0), {});
  const Features train = reference::Detect(orb, pictures.left(3), {});
  MatchInput input;
  input.query = client::DescriptorInput(query).rows;
  input.train = client::DescriptorInput(train).rows;
  Digest digest;
  digest.Add(query);
  digest.Add(train);
  digest.Add(reference::Match(input, {}));
  expected.push_back({"match", digest.Text()});
  for (const ExpectedDigest& work : expected) {
    bool found = false;
    for (const ExpectedDigest& table : ExpectedDigests())
      found |= table.work == work.work && table.digest == work.digest;
    EXPECT_TRUE(found) << work.work << " " << work.digest;
  }
}

// The pictures are worth something: the camera is found where it was.
TEST_F(ExactnessTest, TheCameraIsLocatedWhereItWas) {
  client::LocalizeStreamOptions options;
  options.camera = {kPictureShape.width,     kPictureShape.height,     kFocalLength,
                    kPictureShape.width / 2, kPictureShape.height / 2, kBaseline};
  std::vector<client::LocalizeAnswer> answers;
  const client::Client client(server->InProcessChannel());
  auto stream = client.OpenLocalizeStream(
      options, [&answers](const client::LocalizeAnswer& answer) { answers.push_back(answer); });
  ASSERT_TRUE(stream.ok());
  for (int frame = 0; frame < kPictureFrames; ++frame) {
    ASSERT_TRUE((*stream)
                    ->Write(static_cast<uint64_t>(frame), pictures.left(frame), pictures.right(frame),
                            frame * int64_t{33'333'333})
                    .ok());
  }
  ASSERT_TRUE((*stream)->Finish().ok());
  ASSERT_EQ(answers.size(), static_cast<size_t>(kPictureFrames));
  for (const client::LocalizeAnswer& answer : answers) {
    EXPECT_EQ(answer.location.status, LocationStatus::kTracking) << answer.frame_id;
    EXPECT_NEAR(answer.location.pose.position[0], kBaseline / 4 * static_cast<double>(answer.frame_id), 0.005);
    EXPECT_NEAR(answer.location.pose.position[2], 0, 0.02);
  }
}

}  // namespace
}  // namespace glint::cli
