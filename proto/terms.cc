// The numbers of proto/terms.h are those of the wire, so that a cast converts between them.
#include "proto/terms.h"

#include "glint/v1/feature_detection.pb.h"

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

}  // namespace
}  // namespace glint
