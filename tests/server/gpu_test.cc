// GPU metrics from an NVML that this test brings along, and from a sysfs as a Jetson has it.
#include "server/metrics/gpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/server/fake_sysfs.h"

namespace glint {
namespace {

GpuSensors::Paths Paths(const std::string& nvml, const std::string& sysfs) {
  GpuSensors::Paths paths;
  paths.nvml = nvml;
  paths.sysfs = sysfs;
  return paths;
}

TEST(GpuSensorsTest, ReadsNvmlByPciBusId) {
  const GpuSensors sensors({{"cuda:0", "00000000:1B:00.0"}, {"cuda:1", "00000000:2C:00.0"}, {"cuda:2", "gone"}},
                           Paths(GLINT_FAKE_NVML, "/no/sysfs"));
  const auto readings = sensors.Read();
  ASSERT_EQ(readings.size(), 3u);
  EXPECT_EQ(readings[0].device, "cuda:0");
  EXPECT_EQ(readings[0].utilization, 0.37);
  EXPECT_EQ(readings[0].memory_used, 400);
  EXPECT_EQ(readings[0].memory_total, 1000);
  EXPECT_EQ(readings[0].temperature, 51);
  EXPECT_EQ(readings[0].power, 123.456);
  EXPECT_EQ(readings[1].utilization, std::nullopt);
  EXPECT_EQ(readings[1].memory_total, std::nullopt);
  EXPECT_EQ(readings[1].temperature, 51);
  EXPECT_EQ(readings[2].temperature, std::nullopt);

  const auto families = ToMetrics(readings);
  ASSERT_EQ(families.size(), 5u);
  for (const prometheus::MetricFamily& family : families) {
    EXPECT_EQ(family.metric.size(), family.name == "glint_gpu_temperature_celsius" ? 2u : 1u) << family.name;
    EXPECT_EQ(family.metric[0].label[0].value, "cuda:0");
  }
}

TEST(GpuSensorsTest, ReadsAJetsonsSysfs) {
  Sysfs sysfs;
  sysfs.Write("/class/devfreq/15000000.host1x/device/load", "999");
  sysfs.Write("/class/devfreq/17000000.gpu/device/load", "425");
  sysfs.Write("/class/thermal/thermal_zone0/type", "cpu-thermal");
  sysfs.Write("/class/thermal/thermal_zone0/temp", "70000");
  sysfs.Write("/class/thermal/thermal_zone1/type", "gpu-thermal");
  sysfs.Write("/class/thermal/thermal_zone1/temp", "48500");
  sysfs.Write("/class/hwmon/hwmon0/name", "nvme");
  sysfs.Write("/class/hwmon/hwmon1/name", "ina3221");
  sysfs.Write("/class/hwmon/hwmon1/in1_label", "VDD_IN");
  sysfs.Write("/class/hwmon/hwmon1/in1_input", "5000");
  sysfs.Write("/class/hwmon/hwmon1/curr1_input", "9000");
  sysfs.Write("/class/hwmon/hwmon1/in2_label", "VDD_CPU_GPU_CV");
  sysfs.Write("/class/hwmon/hwmon1/in2_input", "5000");
  sysfs.Write("/class/hwmon/hwmon1/curr2_input", "800");
  const GpuSensors sensors({{"cuda:0", ""}}, Paths("no-such-library.so", sysfs.root()));
  const auto readings = sensors.Read();
  ASSERT_EQ(readings.size(), 1u);
  EXPECT_EQ(readings[0].utilization, 0.425);
  EXPECT_EQ(readings[0].temperature, 48.5);
  EXPECT_NEAR(*readings[0].power, 4.0, 1e-9);
  EXPECT_EQ(readings[0].memory_used, std::nullopt);  // the machine's own
  EXPECT_EQ(ToMetrics(readings).size(), 3u);
  // Where Xavier and older have it.
  sysfs.Write("/devices/gpu.0/load", "100");
  EXPECT_EQ(sensors.Read()[0].utilization, 0.1);
}

TEST(GpuSensorsTest, EnergyIsACounterForEachSource) {
  EXPECT_TRUE(ToMetrics(std::vector<EnergyReading>()).empty());
  const auto families = ToMetrics(std::vector<EnergyReading>{{"cuda:0", 12.5}, {"rapl:package-0", 3}});
  ASSERT_EQ(families.size(), 1u);
  EXPECT_EQ(families[0].name, "glint_energy_joules_total");
  EXPECT_EQ(families[0].type, prometheus::MetricType::Counter);
  ASSERT_EQ(families[0].metric.size(), 2u);
  EXPECT_EQ(families[0].metric[0].label[0].value, "cuda:0");
  EXPECT_EQ(families[0].metric[0].counter.value, 12.5);
  EXPECT_EQ(families[0].metric[1].label[0].value, "rapl:package-0");
}

TEST(GpuSensorsTest, IsSilentWithoutSourcesOrGpus) {
  EXPECT_TRUE(ToMetrics(GpuSensors({{"cuda:0", ""}}, Paths("no-such-library.so", "/no/sysfs")).Read()).empty());
  EXPECT_TRUE(ToMetrics(GpuSensors({}, Paths(GLINT_FAKE_NVML, "/sys")).Read()).empty());
}

}  // namespace
}  // namespace glint
