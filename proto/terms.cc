// The numbers of proto/terms.h and features/warning.h are those of the wire, so that a cast converts between them.
#include "proto/terms.h"

#include "features/warning.h"
#include "glint/v1/envelope.pb.h"
#include "glint/v1/feature_detection.pb.h"
#include "glint/v1/localization.pb.h"
#include "glint/v1/tracking.pb.h"

namespace glint {
namespace {

template <typename Term, typename Wire>
constexpr bool Same(Term term, Wire wire) {
  return static_cast<int>(term) == static_cast<int>(wire);
}

static_assert(Same(PixelFormat::kGray8, v1::PIXEL_FORMAT_GRAY8));
static_assert(Same(PixelFormat::kBgr8, v1::PIXEL_FORMAT_BGR8));
static_assert(Same(PixelFormat::kRgb8, v1::PIXEL_FORMAT_RGB8));
static_assert(Same(PixelFormat::kBgra8, v1::PIXEL_FORMAT_BGRA8));
static_assert(Same(PixelFormat::kRgba8, v1::PIXEL_FORMAT_RGBA8));
static_assert(Same(PixelFormat::kNv12, v1::PIXEL_FORMAT_NV12));
static_assert(Same(PixelFormat::kYuyv, v1::PIXEL_FORMAT_YUYV));
static_assert(Same(PixelFormat::kGray16, v1::PIXEL_FORMAT_GRAY16));
static_assert(Same(PixelFormat::kBayerRggb8, v1::PIXEL_FORMAT_BAYER_RGGB8));
static_assert(Same(PixelFormat::kBayerRggb8, v1::PixelFormat_MAX), "terms.h lacks a value");

static_assert(Same(OverloadPolicy::kBlock, v1::OVERLOAD_POLICY_BLOCK));
static_assert(Same(OverloadPolicy::kDropOldest, v1::OVERLOAD_POLICY_DROP_OLDEST));
static_assert(Same(OverloadPolicy::kLatest, v1::OVERLOAD_POLICY_LATEST));
static_assert(Same(OverloadPolicy::kReject, v1::OVERLOAD_POLICY_REJECT));
static_assert(Same(OverloadPolicy::kReject, v1::OverloadPolicy_MAX), "terms.h lacks a value");

static_assert(Same(DropReason::kNone, v1::DROP_REASON_UNSPECIFIED));
static_assert(Same(DropReason::kSuperseded, v1::DROP_REASON_SUPERSEDED));
static_assert(Same(DropReason::kExpired, v1::DROP_REASON_EXPIRED));
static_assert(Same(DropReason::kRejected, v1::DROP_REASON_REJECTED));
static_assert(Same(DropReason::kRejected, v1::DropReason_MAX), "terms.h lacks a value");

static_assert(Same(TrackState::kTracked, v1::TRACK_STATE_TRACKED));
static_assert(Same(TrackState::kFlat, v1::TRACK_STATE_FLAT));
static_assert(Same(TrackState::kOutOfImage, v1::TRACK_STATE_OUT_OF_IMAGE));
static_assert(Same(TrackState::kMovedTooFar, v1::TRACK_STATE_MOVED_TOO_FAR));
static_assert(Same(TrackState::kNotConverged, v1::TRACK_STATE_NOT_CONVERGED));
static_assert(Same(TrackState::kHighResidual, v1::TRACK_STATE_HIGH_RESIDUAL));
static_assert(Same(TrackState::kBackwardError, v1::TRACK_STATE_BACKWARD_ERROR));
static_assert(Same(TrackState::kImageResized, v1::TRACK_STATE_IMAGE_RESIZED));
static_assert(Same(TrackState::kLastFrameLost, v1::TRACK_STATE_LAST_FRAME_LOST));
static_assert(Same(TrackState::kReset, v1::TRACK_STATE_RESET));
static_assert(Same(TrackState::kForgotten, v1::TRACK_STATE_FORGOTTEN));
static_assert(Same(TrackState::kMasked, v1::TRACK_STATE_MASKED));
static_assert(kTrackStateCount == v1::TrackState_MAX + 1, "terms.h lacks a value");

static_assert(Same(LocationStatus::kInitializing, v1::LOCATION_STATUS_INITIALIZING));
static_assert(Same(LocationStatus::kTracking, v1::LOCATION_STATUS_TRACKING));
static_assert(Same(LocationStatus::kCoasting, v1::LOCATION_STATUS_COASTING));
static_assert(Same(LocationStatus::kLost, v1::LOCATION_STATUS_LOST));
static_assert(Same(LocationStatus::kRelocalized, v1::LOCATION_STATUS_RELOCALIZED));
static_assert(Same(LocationStatus::kNewMap, v1::LOCATION_STATUS_NEW_MAP));
static_assert(Same(LocationStatus::kNewMap, v1::LocationStatus_MAX), "terms.h lacks a value");
static_assert(kLocationStatusCount == v1::LocationStatus_ARRAYSIZE);

static_assert(Same(WarningKind::kUnrectified, v1::WARNING_KIND_UNRECTIFIED));
static_assert(Same(WarningKind::kSwapped, v1::WARNING_KIND_SWAPPED));
static_assert(Same(WarningKind::kOutOfSync, v1::WARNING_KIND_OUT_OF_SYNC));
static_assert(Same(WarningKind::kDifferentScenes, v1::WARNING_KIND_DIFFERENT_SCENES));
static_assert(Same(WarningKind::kVerticalDisparitySpread, v1::WARNING_KIND_VERTICAL_DISPARITY_SPREAD));
static_assert(Same(WarningKind::kRigRotation, v1::WARNING_KIND_RIG_ROTATION));
static_assert(Same(WarningKind::kImplausibleSpeed, v1::WARNING_KIND_IMPLAUSIBLE_SPEED));
static_assert(Same(WarningKind::kNoDisparity, v1::WARNING_KIND_NO_DISPARITY));
static_assert(Same(WarningKind::kFewDepths, v1::WARNING_KIND_FEW_DEPTHS));
static_assert(Same(WarningKind::kNarrowRange, v1::WARNING_KIND_NARROW_RANGE));
static_assert(Same(WarningKind::kMaskValues, v1::WARNING_KIND_MASK_VALUES));
static_assert(Same(WarningKind::kMapFull, v1::WARNING_KIND_MAP_FULL));
static_assert(Same(WarningKind::kTimestamp, v1::WARNING_KIND_TIMESTAMP));
static_assert(Same(WarningKind::kFrozenImage, v1::WARNING_KIND_FROZEN_IMAGE));
static_assert(Same(WarningKind::kStaticRegion, v1::WARNING_KIND_STATIC_REGION));
static_assert(Same(WarningKind::kLensDistortion, v1::WARNING_KIND_LENS_DISTORTION));
static_assert(Same(WarningKind::kImuSamples, v1::WARNING_KIND_IMU_SAMPLES));
static_assert(Same(WarningKind::kImuContradicts, v1::WARNING_KIND_IMU_CONTRADICTS));
static_assert(Same(WarningKind::kMovingScene, v1::WARNING_KIND_MOVING_SCENE));
static_assert(Same(WarningKind::kOneCamera, v1::WARNING_KIND_ONE_CAMERA));
static_assert(Same(WarningKind::kFocalLength, v1::WARNING_KIND_FOCAL_LENGTH));
static_assert(Same(WarningKind::kFocalLength, v1::WarningKind_MAX), "warning.h lacks a value");

}  // namespace
}  // namespace glint
