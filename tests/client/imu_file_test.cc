// What glint localize --imu reads: recordings, their times, and which readings go with which pair.
#include "client/cli/source/imu_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace glint::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string Path(const std::string& name) { return ::testing::TempDir() + "imu-file-" + name; }

std::string Write(const std::string& name, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(Path(name)).parent_path());
  std::ofstream(Path(name), std::ios::binary) << text;
  return Path(name);
}

ImuRecording Read(const std::string& paths) {
  auto read = ReadImu(paths);
  EXPECT_TRUE(read.ok()) << read.status();
  return read.ok() ? *std::move(read) : ImuRecording();
}

std::vector<int64_t> TimesOf(const std::vector<ImuRow>& rows) {
  std::vector<int64_t> times;
  for (const ImuRow& row : rows) times.push_back(row.time_ns);
  return times;
}

// The beginning of EuRoC's V1_01.
constexpr char kEuroc[] =
    "#timestamp [ns],w_RS_S_x [rad s^-1],w_RS_S_y [rad s^-1],w_RS_S_z [rad s^-1],"
    "a_RS_S_x [m s^-2],a_RS_S_y [m s^-2],a_RS_S_z [m s^-2]\n"
    "1403715273262142976,-0.0020943951023931952,0.017453292519943295,0.077492618788548243,"
    "9.0874956666666655,0.13075533333333332,-3.6938381666666662\n"
    "1403715273267142976,-0.0020943951023931952,0.018151424220741021,0.078190750489345951,"
    "9.0220121666666664,0.18795716666666666,-3.7183564166666662\n"
    "1403715273272143104,0.0013962634015954637,0.018849555921538759,0.076794487087750496,"
    "9.0057680000000001,0.15527333333333335,-3.6284938333333332\n";

TEST(ImuFile, OfEurocIsReadToTheLastDigit) {
  const ImuRecording read = Read(Write("euroc/data.csv", kEuroc));
  const std::vector<int64_t> times = {1403715273262142976, 1403715273267142976, 1403715273272143104};
  EXPECT_EQ(TimesOf(read.gyroscope), times);
  EXPECT_EQ(TimesOf(read.accelerometer), times);
  EXPECT_THAT(read.gyroscope[1].value, ElementsAre(-0.0020943951023931952, 0.018151424220741021, 0.078190750489345951));
  EXPECT_THAT(read.accelerometer[2].value, ElementsAre(9.0057680000000001, 0.15527333333333335, -3.6284938333333332));
  EXPECT_THAT(read.Text(), HasSubstr("data.csv: 3 readings of 1403715273.262 to 1403715273.272 s, 200.0 Hz"));
}

TEST(ImuFile, IsFoundInItsFolders) {
  Write("asl/mav0/imu0/data.csv", kEuroc);
  for (const char* folder : {"asl/mav0/imu0", "asl/mav0/", "asl"}) {
    EXPECT_THAT(Read(Path(folder)).gyroscope, SizeIs(3)) << folder;
  }
  Write("empty/other.csv", kEuroc);
  EXPECT_FALSE(ReadImu(Path("empty")).ok());
  EXPECT_TRUE(absl::IsNotFound(ReadImu("/nowhere/imu.csv").status()));
}

TEST(ImuFile, WritingsOfOneRecordingAreTheSame) {
  const std::string plain = std::string(kEuroc).substr(std::string(kEuroc).find('\n') + 1);
  const std::pair<absl::string_view, absl::string_view> blanks{",", " "}, tabs{",", "\t"}, spaced{",", " , "},
      windows{"\n", "\r\n"};
  const std::vector<std::string> lines = {plain.substr(0, plain.find('\n') + 1), plain.substr(plain.find('\n') + 1)};
  const ImuRecording want = Read(Write("want.csv", kEuroc));
  for (const std::string& text :
       {plain, "timestamp,omega_x,omega_y,omega_z,alpha_x,alpha_y,alpha_z\n" + plain,
        "t,gyro_x,gyro_y,gyro_z,accel_x,accel_y,accel_z\n" + plain, "# wx wy wz ax ay az\n" + plain,
        absl::StrReplaceAll(plain, {blanks}), absl::StrReplaceAll(plain, {tabs}), absl::StrReplaceAll(plain, {spaced}),
        "\xEF\xBB\xBF" + absl::StrReplaceAll(kEuroc, {windows}), "\n# one\n" + plain + "\n# the end\n\n",
        absl::StrReplaceAll(plain, {{"1403715273", "1403715273."}}), lines[1] + lines[0]}) {
    SCOPED_TRACE(text);
    const ImuRecording same = Read(Write("same.csv", text));
    EXPECT_EQ(TimesOf(same.gyroscope), TimesOf(want.gyroscope));
    ASSERT_THAT(same.accelerometer, SizeIs(3));
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(same.gyroscope[i].value, want.gyroscope[i].value);
      EXPECT_EQ(same.accelerometer[i].value, want.accelerometer[i].value);
    }
  }
}

TEST(ImuFile, TheUsualStepIsTheUnit) {
  const auto times = [](const std::vector<std::string>& written) {
    std::string text;
    for (const std::string& time : written) absl::StrAppend(&text, time, ",0,0,0,0,0,9.81\n");
    return TimesOf(Read(Write("units.csv", text)).gyroscope);
  };
  EXPECT_THAT(times({"0", "0.005", "0.01"}), ElementsAre(0, 5000000, 10000000));  // s
  EXPECT_THAT(times({"12", "12.0025", "12.005", "20"}),
              ElementsAre(12000000000, 12002500000, 12005000000, 20000000000));
  EXPECT_THAT(times({"1403715273262", "1403715273267", "1403715273272"}),  // ms
              ElementsAre(1403715273262000000, 1403715273267000000, 1403715273272000000));
  EXPECT_THAT(times({"1403715273262142", "1403715273263142", "1403715273263642.5"}),  // us, 1000 Hz
              ElementsAre(1403715273262142000, 1403715273263142000, 1403715273263642500));
  EXPECT_THAT(times({"5000000", "15000000", "15000000"}), ElementsAre(5000000, 15000000, 15000000));  // ns
  // As numpy writes them: to the 256 ns that a double can tell.
  const std::vector<int64_t> doubles = times({"1.40371527326214e+18", "1.40371527326714e+18"});
  EXPECT_LE(std::abs(doubles[0] - 1403715273262140000), 128);
  EXPECT_LE(std::abs(doubles[1] - 1403715273267140000), 128);
}

TEST(ImuFile, OfTwoSensorsIsTwoFiles) {
  const std::string gyroscope = Write("gyro.txt", "#Time Gx Gy Gz\n0.000 1 2 3\n0.005 4 5 6\n0.010 7 8 9\n");
  const std::string accelerometer = Write("accel.txt", "#Time Ax Ay Az\n0.002 0 0 9\n0.018 0 1 9\n");
  const ImuRecording read = Read(gyroscope + "," + accelerometer);
  EXPECT_THAT(TimesOf(read.gyroscope), ElementsAre(0, 5000000, 10000000));
  EXPECT_THAT(TimesOf(read.accelerometer), ElementsAre(2000000, 18000000));
  EXPECT_THAT(read.gyroscope[1].value, ElementsAre(4, 5, 6));
  EXPECT_THAT(read.accelerometer[1].value, ElementsAre(0, 1, 9));
  EXPECT_THAT(ReadImu(gyroscope).status().message(), HasSubstr("gyro.txt:2: '0.000 1 2 3' is not time, angular"));
  EXPECT_THAT(ReadImu("a,b,c").status().message(), HasSubstr("a,b,c: 3 files; one, or GYROSCOPE,ACCELEROMETER"));
}

TEST(ImuFile, BadLinesAreNamedWithTheirNumbers) {
  const std::string good = "0.000,0,0,0,0,0,9\n", next = "0.005,0,0,0,0,0,9\n";
  const std::pair<std::string, std::string> cases[] = {
      {good + "0.005,0,0,0,0,0\n", "bad.csv:2: '0.005,0,0,0,0,0' is not time, angular velocity x y z (rad/s), accel"},
      {good + "\n# a remark\n0.005,0,0,0,0,0,9,1\n", "bad.csv:4: "},
      {good + "0.005,0,0,nan,0,0,9\n", "bad.csv:2: "},
      {good + "0.005,0,0,1e999,0,0,9\n", "bad.csv:2: "},
      {good + "0.005,0,x,0,0,0,9\n", "bad.csv:2: "},
      {good + "0.005,0,0,0,0,0,-1000001\n", "bad.csv:2: "},
      {good + "timestamp,wx,wy,wz,ax,ay,az\n", "bad.csv:2: 'timestamp"},
      {good + next + "0.0.1,0,0,0,0,0,9\n", "bad.csv:3: "},
      {good + "-0.005,0,0,0,0,0,9\n", "bad.csv:2: "},
      {good + "99999999999999999999,0,0,0,0,0,9\n", "bad.csv:2: "},
      {"timestamp,ax,ay,az,gx,gy,gz\n" + good, "bad.csv:1: the header says another order than time, angular"},
      {"# t [s], acc_x [m/s^2], acc_y, acc_z, gyr_x [rad/s], gyr_y, gyr_z\n" + good, "bad.csv:1: the header"},
      {"#t ax ay az wx wy wz\n" + good, "bad.csv:1: the header"},
      {"# nothing\n", "bad.csv: has 0 lines of time"},
      {good, "bad.csv: has 1 lines of time"},
      {"0,0,0,0,0,0,9\n200000000,0,0,0,0,0,9\n", "bad.csv: the usual step of its times is 200000000: in no unit"},
      {good + good, "bad.csv: the usual step of its times is 0"},
      {"\xFF\xFE"
       "0",
       "bad.csv: is UTF-16"}};
  for (const auto& [text, error] : cases) {
    const absl::Status status = ReadImu(Write("bad.csv", text)).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text;
    EXPECT_THAT(status.message(), HasSubstr(error));
  }
}

TEST(Times, AreTheFirstNumbersOfLines) {
  const auto read = [](const std::string& text) { return ReadTimes(Write("times.txt", text)); };
  const auto kitti = read("0.000000e+00\n1.036224e-01\n2.072448e-01\n");
  ASSERT_TRUE(kitti.ok()) << kitti.status();
  EXPECT_THAT(*kitti, ElementsAre(0, 103622400, 207244800));
  const auto euroc = read(
      "#timestamp [ns],filename\n1403715273262142976,1403715273262142976.png\n"
      "1403715273312143104,1403715273312143104.png\n");
  ASSERT_TRUE(euroc.ok()) << euroc.status();
  EXPECT_THAT(*euroc, ElementsAre(1403715273262142976, 1403715273312143104));
  EXPECT_THAT(read("0\n0.1\n0.1\n").status().message(), HasSubstr("times.txt:3: the time is not after that of"));
  EXPECT_THAT(read("0\nframe1.png\n").status().message(), HasSubstr("times.txt:2: 'frame1.png' is not a time"));
}

// Both sensors at 200 Hz from `first` on, the gyroscope's x is the number.
ImuRecording Recording(int count, int64_t first = 0) {
  ImuRecording recording;
  recording.name = "imu.csv";
  for (int i = 0; i < count; ++i) {
    recording.gyroscope.push_back({first + int64_t{5'000'000} * i, {static_cast<double>(i), 0, 0}});
    recording.accelerometer.push_back({first + int64_t{5'000'000} * i, {0, 0, 9.81}});
  }
  return recording;
}

TEST(ImuFeed, APairHasWhatCameSinceTheLastAndOneBeyond) {
  ImuFeed feed(Recording(400), 0);
  const auto numbers = [&](int64_t time_ns) {
    const std::vector<client::ImuReadings>& due = feed.Until(time_ns);
    EXPECT_THAT(due, SizeIs(1));
    EXPECT_EQ(due[0].acceleration.size(), due[0].angular_velocity.size());
    EXPECT_THAT(due[0].accelerometer_time_ns, SizeIs(0));  // the gyroscope's
    std::vector<double> found;
    for (const auto& value : due[0].angular_velocity) found.push_back(value[0]);
    return found;
  };
  EXPECT_THAT(numbers(1'010'000'000).front(), 2);  // a second before the first pair
  EXPECT_THAT(numbers(1'022'000'000), ElementsAre(203, 204, 205));
  EXPECT_THAT(numbers(1'025'000'000), SizeIs(0));  // which has been sent: 205
  EXPECT_THAT(numbers(1'030'000'000), ElementsAre(206));
  EXPECT_THAT(numbers(1'026'000'000), SizeIs(0));
  EXPECT_THAT(numbers(1'990'000'000).back(), 398);
  EXPECT_THAT(numbers(5'000'000'000), ElementsAre(399));
  EXPECT_THAT(numbers(6'000'000'000), SizeIs(0));
}

TEST(ImuFeed, ClocksMayDiffer) {
  ImuFeed feed(Recording(400, 1'000'000'000), 20'000'000);  // the recording is 20 ms ahead
  EXPECT_EQ(feed.Until(1'000'000'000)[0].gyroscope_time_ns.back(), 1'020'000'000);
}

TEST(ImuFeed, AMessageHasNoMoreThanAServerTakes) {
  ImuFeed feed(Recording(20000), 0);
  feed.Until(0);
  const std::vector<client::ImuReadings>& due = feed.Until(99'000'000'000);
  ASSERT_THAT(due, SizeIs(5));
  EXPECT_THAT(due[0].angular_velocity, SizeIs(4096));
  EXPECT_THAT(due[1].acceleration, SizeIs(4096));
  EXPECT_EQ(due[4].gyroscope_time_ns.back(), 99'000'000'000);
  EXPECT_EQ(due[1].gyroscope_time_ns.front(), due[0].gyroscope_time_ns.back() + 5'000'000);
}

TEST(ImuFeed, SensorsMayHaveRatesOfTheirOwn) {
  ImuRecording recording = Recording(100);
  recording.accelerometer = {{2'000'000, {}}, {18'000'000, {}}, {34'000'000, {}}};
  ImuFeed feed(std::move(recording), 0);
  const client::ImuReadings first = feed.Until(10'000'000)[0];
  EXPECT_THAT(first.gyroscope_time_ns, ElementsAre(0, 5'000'000, 10'000'000));
  EXPECT_THAT(first.accelerometer_time_ns, ElementsAre(2'000'000, 18'000'000));
}

}  // namespace
}  // namespace glint::cli
