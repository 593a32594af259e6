// Energy from an NVML that this test brings along, from RAPL zones and from a Jetson's rails in a folder.
#include "sensors/energy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "absl/time/clock.h"
#include "bench/energy_report.h"
#include "tests/server/fake_sysfs.h"

namespace glint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Not;

EnergyMeterOptions Options(const std::string& sysfs) {
  EnergyMeterOptions options;
  options.gpus.emplace();
  options.sysfs = sysfs;
  return options;
}

std::map<std::string, double> Joules(EnergyMeter* meter) {
  std::map<std::string, double> joules;
  for (const EnergyReading& reading : meter->Read()) joules[reading.source] = reading.joules;
  return joules;
}

std::map<std::string, std::string> Gaps(const EnergyMeter& meter) {
  std::map<std::string, std::string> gaps;
  for (const EnergyGap& gap : meter.gaps()) gaps[gap.source] = gap.reason;
  return gaps;
}

void WriteZone(const Sysfs& sysfs, const std::string& zone, const std::string& name, const std::string& microjoules) {
  const std::string base = "/class/powercap/" + zone + "/";
  sysfs.Write(base + "name", name);
  sysfs.Write(base + "energy_uj", microjoules);
  sysfs.Write(base + "max_energy_range_uj", "1000000");
}

TEST(EnergyMeterTest, CountsGpusByIndexAndSaysWhichHaveNoCounter) {
  EnergyMeterOptions options = Options("/no/sysfs");
  options.gpus.reset();
  options.nvml = GLINT_FAKE_NVML;
  EnergyMeter meter(options);
  EXPECT_THAT(Joules(&meter), ElementsAre(testing::Pair("nvml:0", 0.25)));
  EXPECT_EQ(Joules(&meter)["nvml:0"], 0.5);
  EXPECT_EQ(Gaps(meter)["nvml:1"], "nvmlDeviceGetTotalEnergyConsumption: error 3");
}

TEST(EnergyMeterTest, CountsTheGivenGpusByPciBusId) {
  EnergyMeterOptions options = Options("/no/sysfs");
  options.gpus = {{"cuda:0", "00000000:1B:00.0"}, {"cuda:1", "gone"}};
  options.nvml = GLINT_FAKE_NVML;
  EnergyMeter meter(options);
  EXPECT_THAT(Joules(&meter), ElementsAre(testing::Pair("cuda:0", 0.25)));
  EXPECT_EQ(Gaps(meter)["cuda:1"], "NVML does not know this GPU");
}

TEST(EnergyMeterTest, CountsRaplZonesAcrossTheirWrap) {
  const Sysfs sysfs;
  WriteZone(sysfs, "intel-rapl:0", "package-0", "900000");
  WriteZone(sysfs, "intel-rapl:0:1", "dram", "5");
  WriteZone(sysfs, "intel-rapl-mmio:0", "package-0", "5");  // the same energy by another way
  EnergyMeter meter(Options(sysfs.root()));
  EXPECT_THAT(Joules(&meter), ElementsAre(testing::Pair("rapl:package-0", 0), testing::Pair("rapl:package-0/dram", 0)));
  sysfs.Write("/class/powercap/intel-rapl:0/energy_uj", "950000");
  EXPECT_NEAR(Joules(&meter)["rapl:package-0"], 0.05, 1e-9);
  sysfs.Write("/class/powercap/intel-rapl:0/energy_uj", "100000");
  EXPECT_NEAR(Joules(&meter)["rapl:package-0"], 0.2, 1e-9);
  EXPECT_EQ(Joules(&meter)["rapl:package-0/dram"], 0);
  std::filesystem::remove(sysfs.root() + "/class/powercap/intel-rapl:0/energy_uj");
  EXPECT_THAT(Joules(&meter), ElementsAre(Key("rapl:package-0/dram")));
}

TEST(EnergyMeterTest, ARaplZoneWithoutItsCounterIsAGap) {
  const Sysfs sysfs;
  sysfs.Write("/class/powercap/intel-rapl:0/name", "package-0");
  sysfs.Write("/class/powercap/intel-rapl:1/name", "package-1");
  sysfs.Write("/class/powercap/intel-rapl:1/energy_uj", "?");
  EnergyMeter meter(Options(sysfs.root()));
  EXPECT_TRUE(Joules(&meter).empty());
  EXPECT_THAT(Gaps(meter)["rapl:package-0"], HasSubstr("energy_uj: No such file or directory"));
  EXPECT_THAT(Gaps(meter)["rapl:package-1"], HasSubstr("energy_uj: not a number"));
}

TEST(EnergyMeterTest, AddsUpTheRailsOfAJetson) {
  const Sysfs sysfs;
  const std::string base = "/class/hwmon/hwmon1/";
  sysfs.Write(base + "name", "ina3221");
  sysfs.Write(base + "in1_label", "VDD_IN");
  sysfs.Write(base + "in1_input", "5000");    // mV
  sysfs.Write(base + "curr1_input", "2000");  // mA: 10 W
  EnergyMeterOptions options = Options(sysfs.root());
  options.rail_period = absl::Milliseconds(2);
  const absl::Time before = absl::Now();
  EnergyMeter meter(options);
  absl::SleepFor(absl::Milliseconds(50));
  const double joules = Joules(&meter)["ina3221:VDD_IN"];
  EXPECT_GE(joules, 0.5);
  EXPECT_LE(joules, 10 * absl::ToDoubleSeconds(absl::Now() - before) + 1e-9);
  EXPECT_EQ(Gaps(meter).count("ina3221"), 0u);
}

TEST(EnergyMeterTest, WithoutAnySourceEveryKindIsAGap) {
  EnergyMeterOptions options = Options("/no/sysfs");
  options.gpus.reset();
  options.nvml = "no-such-library.so";
  EnergyMeter meter(options);
  EXPECT_TRUE(meter.Read().empty());
  EXPECT_THAT(Gaps(meter), ElementsAre(testing::Pair("ina3221", "no rails in /no/sysfs/class/hwmon"),
                                       testing::Pair("nvml", "no-such-library.so: the library is not there"),
                                       testing::Pair("rapl", "no zones in /no/sysfs/class/powercap/")));
}

// Each look at the fake GPU's counter costs it 250 mJ.
TEST(EnergyAccountTest, DividesByTheFramesAndTakesOffWhatIdlingCosts) {
  const Sysfs sysfs;
  EnergyMeterOptions options = Options(sysfs.root());
  options.gpus.reset();
  options.nvml = GLINT_FAKE_NVML;
  EnergyMeter meter(options);
  bench::EnergyAccount account(&meter);
  account.MeasureIdle(absl::Milliseconds(20));
  for (int round = 0; round < 2; ++round) {
    account.Begin();
    absl::SleepFor(absl::Milliseconds(5));
    account.End(5);
  }
  const bench::EnergyReport report = account.Report();
  EXPECT_EQ(report.frames, 10);
  EXPECT_GE(report.seconds, 0.01);
  ASSERT_EQ(report.rows.size(), 1u);
  const bench::EnergyRow& row = report.rows[0];
  EXPECT_EQ(row.source, "nvml:0");
  EXPECT_NEAR(row.idle_watts, 0.25 / report.idle_seconds, 1e-9);
  EXPECT_NEAR(row.watts, 0.5 / report.seconds, 1e-9);
  EXPECT_NEAR(row.joules_per_frame, 0.05, 1e-12);
  EXPECT_NEAR(row.joules_per_frame_above_idle, (0.5 - row.idle_watts * report.seconds) / 10, 1e-9);
  const std::string table = bench::EnergyTable(report);
  EXPECT_THAT(table, HasSubstr("energy of 10 frames"));
  EXPECT_THAT(table, HasSubstr("      50.000"));
  EXPECT_THAT(table,
              HasSubstr("nvml:1                     not measured: nvmlDeviceGetTotalEnergyConsumption: error 3"));
  bench::JsonWriter json;
  bench::WriteEnergy(report, &json);
  EXPECT_THAT(json.text(), HasSubstr("\"joules_per_frame\": 0.05"));
  EXPECT_THAT(json.text(), HasSubstr("\"reason\": \"no zones in "));
}

TEST(EnergyAccountTest, ASourceThatVanishesIsAGap) {
  const Sysfs sysfs;
  WriteZone(sysfs, "intel-rapl:0", "package-0", "1");
  EnergyMeter meter(Options(sysfs.root()));
  bench::EnergyAccount account(&meter);
  account.MeasureIdle(absl::Milliseconds(1));
  account.Begin();
  std::filesystem::remove(sysfs.root() + "/class/powercap/intel-rapl:0/energy_uj");
  account.End(1);
  const bench::EnergyReport report = account.Report();
  EXPECT_TRUE(report.rows.empty());
  EXPECT_THAT(bench::EnergyTable(report), HasSubstr("rapl:package-0             not measured: could not be read all"));
}

}  // namespace
}  // namespace glint
