#include "cuda/benchmark/plan_report.h"

#include <limits>

#include "cuda/plan/plan.h"

namespace glint::cuda {
namespace {

std::vector<PlannedLaunch> LaunchesOf(const Schedule& schedule) {
  std::vector<PlannedLaunch> launches;
  for (const Launch& launch : schedule.launches) {
    launches.push_back({NameOf(launch.stage),
                        NameOf(launch.kernel),
                        launch.variant,
                        {launch.grid.x, launch.grid.y, launch.grid.z},
                        {launch.block.x, launch.block.y, launch.block.z},
                        launch.shared_bytes,
                        launch.overlaps_predecessor});
  }
  return launches;
}

}  // namespace

absl::StatusOr<PlanReport> ReportPlan(const DetectorOptions& options, Shape shape, int multiprocessors) {
  const Plan plan({options, shape}, multiprocessors);
  PlanReport report;
  report.multiprocessors = multiprocessors;
  const Frame& frame = plan.frame();
  for (int l = 0; l < frame.levels; ++l) {
    const Level& level = frame.level[l];
    const int share = plan.quadtree().has_value() ? level.first_share : level.share;
    const bool has_share = share != std::numeric_limits<int>::max();
    report.levels.push_back({level.width, level.height, level.pitch, has_share ? share : 0});
  }
  report.launches = LaunchesOf(plan.schedule(0));
  report.scratch_bytes = static_cast<int64_t>(plan.scratch_bytes());
  report.table_bytes = static_cast<int64_t>(plan.tables().size());
  report.result_bytes = static_cast<int64_t>(plan.result_bytes());
  if (plan.selection().has_value()) report.state_bytes = static_cast<int64_t>(plan.selection()->state_bytes());
  if (!CanComeInParts(options, shape, /*masked=*/false, /*integrated=*/false)) return report;
  report.parts = kParts;
  const Plan in_parts({options, shape, /*masked=*/false, kParts}, multiprocessors);
  for (int part = 0; part < kParts; ++part) report.part_launches.push_back(LaunchesOf(in_parts.schedule(part)));
  return report;
}

}  // namespace glint::cuda
