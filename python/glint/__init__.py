"""Glint: Oriented FAST features and their relatives from a Glint server, as numpy arrays.

    import glint
    with glint.Client("127.0.0.1:50051") as client:
        features = client.detect(image, max_features=1000, descriptor="rbrief")
        for result in client.stream(frames, "fast_grid", window=8):
            print(result.frame_id, len(result.features))
"""
from glint import aio
from glint.calls import Frame
from glint.channel import ServerInfo, Tls
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
from glint.image import Encoded, Raw, Shared
from glint.options import detector
from glint.orb import ORB, ORB_create
from glint.shared_memory import SharedMemory, Slot

__version__ = "0.1.0"

__all__ = [
    "Aborted",
    "Cancelled",
    "Client",
    "DeadlineExceeded",
    "Encoded",
    "FailedPrecondition",
    "Features",
    "Frame",
    "GlintError",
    "InternalError",
    "InvalidArgument",
    "NotFound",
    "ORB",
    "ORB_create",
    "PermissionDenied",
    "Raw",
    "ResourceExhausted",
    "Result",
    "ServerInfo",
    "Shared",
    "SharedMemory",
    "Slot",
    "Timings",
    "Tls",
    "Unauthenticated",
    "Unavailable",
    "Unimplemented",
    "aio",
    "detector",
]
