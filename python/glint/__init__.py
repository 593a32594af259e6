"""Glint: Oriented FAST features and their relatives from a Glint server, as numpy arrays.

    import glint
    with glint.Client("127.0.0.1:50051") as client:
        features = client.detect(image, max_features=1000, descriptor="rbrief")
        for result in client.stream(frames, "fast_grid", window=8):
            print(result.frame_id, len(result.features))
        matches = client.match(image, another, ratio=0.8, cross_check=True)
        for result in client.track_stream(frames, target=500):
            print(result.tracks.ids, result.tracks.points)
"""
from glint import aio
from glint.bf_matcher import BFMatcher, BFMatcher_create
from glint.calls import Frame
from glint.camera import Camera, RectifiedCamera, RgbdCamera
from glint.channel import ServerInfo, ServerLimits, Tls
from glint.client import Client
from glint.errors import (
    Aborted,
    Cancelled,
    DeadlineExceeded,
    FailedPrecondition,
    GlintError,
    InternalError,
    InvalidArgument,
    NotFound,
    PermissionDenied,
    ResourceExhausted,
    Unauthenticated,
    Unavailable,
    Unimplemented,
)
from glint.features import Features, Result, Timings
from glint.features import Warning as Warning  # not in __all__: it would hide Python's own
from glint.image import Encoded, Raw, Shared
from glint.inertial import Imu, ImuPoses, ImuReadings, ImuReceived, Inertial, InertialStatus
from glint.localization import (
    DepthCamera,
    GetMap,
    LoadMap,
    LocalizePair,
    LocalizeResult,
    Location,
    LocationStatus,
    MapPart,
    SaveMap,
    StereoCamera,
)
from glint.matching import (
    Descriptors,
    ForgetSet,
    Matches,
    MatchResult,
    Pair,
    StereoMatches,
    StereoPair,
    StereoResult,
    UpdateSet,
)
from glint.options import detector, gray_range
from glint.orb import ORB, ORB_create
from glint.shared_memory import OtherSlot, SharedMemory, Slot
from glint.stereo_rig import StereoRig
from glint.tracking import (
    AddPoints,
    ForgetTracks,
    ResetTracks,
    TrackFrame,
    TrackPrediction,
    TrackResult,
    Tracks,
    TrackState,
    Trails,
)

__version__ = "0.1.0"

__all__ = [
    "Aborted",
    "AddPoints",
    "BFMatcher",
    "BFMatcher_create",
    "Camera",
    "Cancelled",
    "Client",
    "DeadlineExceeded",
    "DepthCamera",
    "Descriptors",
    "Encoded",
    "FailedPrecondition",
    "Features",
    "ForgetSet",
    "ForgetTracks",
    "Frame",
    "GetMap",
    "GlintError",
    "Imu",
    "ImuPoses",
    "ImuReadings",
    "ImuReceived",
    "Inertial",
    "InertialStatus",
    "InternalError",
    "InvalidArgument",
    "LoadMap",
    "LocalizePair",
    "LocalizeResult",
    "Location",
    "LocationStatus",
    "MapPart",
    "MatchResult",
    "Matches",
    "NotFound",
    "ORB",
    "ORB_create",
    "OtherSlot",
    "Pair",
    "PermissionDenied",
    "Raw",
    "RectifiedCamera",
    "ResetTracks",
    "ResourceExhausted",
    "Result",
    "RgbdCamera",
    "SaveMap",
    "ServerInfo",
    "ServerLimits",
    "Shared",
    "SharedMemory",
    "Slot",
    "StereoCamera",
    "StereoMatches",
    "StereoPair",
    "StereoResult",
    "StereoRig",
    "Timings",
    "Tls",
    "TrackFrame",
    "TrackPrediction",
    "TrackResult",
    "TrackState",
    "Tracks",
    "Trails",
    "Unauthenticated",
    "Unavailable",
    "Unimplemented",
    "UpdateSet",
    "aio",
    "detector",
    "gray_range",
]
