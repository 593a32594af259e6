"""Inertial sensors of a stream of localization: what they are, their readings, and what is known of them."""
from __future__ import annotations

import dataclasses
import enum
from typing import Any, Optional, Sequence, Tuple, Union

import numpy as np

from glint.camera import set_transform
from glint.errors import InternalError, InvalidArgument, invalid
from glint.options import fill, frame_id
from glint.v1 import localization_pb2 as pb


@dataclasses.dataclass(frozen=True, eq=False)
class Imu:
    """A gyroscope and an accelerometer that are fixed to the camera.

    camera_from_imu  (4, 4) or (3, 4), or (R, t): takes coordinates in the sensor's axes to those of the left camera, of
                     glint.StereoRig or glint.RgbdCamera the raw one; metres. Kalibr's T_cam_imu
    gyroscope_noise_density, gyroscope_random_walk, accelerometer_noise_density, accelerometer_random_walk
                     in continuous time, as in Kalibr's imu.yaml; None: those of a good MEMS sensor
    noise_inflation  what the two densities are multiplied by, since data sheets are of a sensor at rest; None: 10
    gravity          of the place, m/s^2; None: 9.81
    imu_time_minus_camera_time_ns
                     time of the sensor's clock = time of the images + this
    gyroscope_range, accelerometer_range
                     rad/s, m/s^2: readings as large as these are saturated; None: not known
    """

    camera_from_imu: Union[np.ndarray, Tuple[Any, Any]]
    gyroscope_noise_density: Optional[float] = None
    gyroscope_random_walk: Optional[float] = None
    accelerometer_noise_density: Optional[float] = None
    accelerometer_random_walk: Optional[float] = None
    noise_inflation: Optional[float] = None
    gravity: Optional[float] = None
    imu_time_minus_camera_time_ns: int = 0
    gyroscope_range: Optional[float] = None
    accelerometer_range: Optional[float] = None


@dataclasses.dataclass(frozen=True, eq=False)
class ImuReadings:
    """Readings in any order, up to 4096 of each sensor: of a glint.LocalizePair, or an item of their own between pairs,
    which is answered by LocalizeResult.imu; then id is any number of 64 bits, returned as it is; None: its place.

    times_ns               (n,) whole numbers, nanoseconds of the sensor's clock
    angular_velocity       (n, 3), rad/s
    acceleration           (n, 3), m/s^2: at rest 9.81 upwards; with accelerometer_times_ns (m, 3)
    accelerometer_times_ns (m,), if they are not the gyroscope's
    """

    times_ns: Union[np.ndarray, Sequence[int]]
    angular_velocity: Any
    acceleration: Any
    accelerometer_times_ns: Union[np.ndarray, Sequence[int], None] = None
    id: Optional[int] = None


ImuLike = Union[ImuReadings, Tuple[Any, Any, Any]]  # (times_ns, angular_velocity, acceleration)


class InertialStatus(enum.IntEnum):
    """What is known of the sensor; proto/glint/v1/localization.proto has each state."""

    INITIALIZING = 1
    READY = 2
    LEFT_OUT = 3


@dataclasses.dataclass(frozen=True)
class ImuReceived:
    """Readings of a stream so far, and those of them that were not used as they came;
    proto/glint/v1/localization.proto says why."""

    received: int = 0
    late: int = 0
    duplicate: int = 0
    unsorted: int = 0
    missing: int = 0
    saturated: int = 0
    frozen: int = 0
    dropped: int = 0


@dataclasses.dataclass(frozen=True, eq=False)
class Inertial:
    """What is known of the inertial sensor at a pair's time.

    status          InertialStatus
    level           the world's z points up: from the pair on at which the sensor is first READY in a map. Poses of that
                    map before are of the world of its first camera
    velocity, gyroscope_bias, accelerometer_bias
                    float64 (3,), m/s of the sensor in the world, rad/s and m/s^2, and their standard deviations; None
                    unless READY
    rotation_innovation, position_innovation
                    of a pair that was located by its images: squared difference from what the sensor predicted,
                    normalised: about 1 or less where all is well
    blind_ns        since the images located a pair; 0: they did this one
    readings        ImuReceived
    """

    status: InertialStatus
    level: bool
    velocity: Optional[np.ndarray]
    gyroscope_bias: Optional[np.ndarray]
    accelerometer_bias: Optional[np.ndarray]
    velocity_sigma: float
    gyroscope_bias_sigma: float
    accelerometer_bias_sigma: float
    rotation_innovation: float
    position_innovation: float
    blind_ns: int
    readings: ImuReceived


# ---- writing: messages, whose ranges are the server's to check


def imu_message(given: Optional[Imu]) -> Optional[pb.InertialSensor]:
    """None stays None."""
    if given is None:
        return None
    if not isinstance(given, Imu):
        raise invalid("imu", given, "is not glint.Imu")
    message = pb.InertialSensor()
    rotation, translation = _rigid(given.camera_from_imu)
    set_transform(rotation, translation, message.camera_from_imu, "imu.camera_from_imu")
    fill({name: value for name, value in vars(given).items() if name != "camera_from_imu"}, message, prefix="imu.")
    return message


def readings_message(given: ImuLike) -> pb.ImuReadings:
    """Errors name the fields imu.times_ns and so on."""
    if isinstance(given, tuple) and len(given) == 3:
        given = ImuReadings(*given)
    if not isinstance(given, ImuReadings):
        raise invalid("imu", given, "is not (times_ns, angular_velocity, acceleration) or glint.ImuReadings")
    times = _times(given.times_ns, "imu.times_ns")
    others = given.accelerometer_times_ns
    own = [] if others is None else _times(others, "imu.accelerometer_times_ns")
    return pb.ImuReadings(
        gyroscope_time_ns=times,
        angular_velocity=_vectors(given.angular_velocity, "imu.angular_velocity", len(times)),
        accelerometer_time_ns=own,
        acceleration=_vectors(given.acceleration, "imu.acceleration", len(times if others is None else own)),
    )


def batch_message(number: int, given: ImuReadings) -> pb.AddImu:
    return pb.AddImu(frame_id=frame_id(number), readings=readings_message(given))


def _rigid(given: Any) -> "tuple[Any, Any]":
    """R and t of (R, t), or of a matrix of either shape."""
    if isinstance(given, (tuple, list)) and len(given) == 2:
        return given[0], given[1]
    try:
        matrix = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        matrix = np.empty(0)
    square = matrix.shape == (4, 4)
    if matrix.shape != (3, 4) and not square:
        raise invalid("imu.camera_from_imu", given, "is not (4, 4) or (3, 4) numbers, or (R, t)")
    if square and matrix[3].tolist() != [0, 0, 0, 1]:
        raise invalid("imu.camera_from_imu", matrix[3], "is not the last row 0 0 0 1")
    return matrix[:3, :3], matrix[:3, 3]


def _times(given: Any, name: str) -> "list[int]":
    times = np.asarray(given)
    if times.size == 0:
        return []
    if times.ndim != 1 or times.dtype.kind not in "iu" or int(times.max()) >= 1 << 63:
        raise invalid(name, given, "is not (n,) whole numbers, nanoseconds")
    return times.tolist()


def _vectors(given: Any, name: str, count: int) -> "list[float]":
    try:
        vectors = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise invalid(name, given, "is not numbers of (n, 3)") from None
    if vectors.size == 0:
        vectors = vectors.reshape(0, 3)
    if vectors.ndim != 2 or vectors.shape[1] != 3:
        raise invalid(name, given, "is not numbers of (n, 3)")
    if len(vectors) != count:
        raise InvalidArgument(f"{name}: {len(vectors)}, but times: {count}", field=name)
    return vectors.ravel().tolist()


# ---- reading


def read_received(message: pb.ImuReceived) -> ImuReceived:
    return ImuReceived(**{field.name: getattr(message, field.name) for field in message.DESCRIPTOR.fields})


def read_inertial(message: Optional[pb.Inertial]) -> Optional[Inertial]:
    """Of an answer that has one."""
    if message is None:
        return None
    if message.status not in InertialStatus.__members__.values():
        raise InternalError(f"inertial: the server's status is {message.status}")
    fields = {field.name: getattr(message, field.name) for field in message.DESCRIPTOR.fields}
    for name in ("velocity", "gyroscope_bias", "accelerometer_bias"):
        v = fields[name]
        fields[name] = np.array([v.x, v.y, v.z]) if message.HasField(name) else None
    status, readings = InertialStatus(message.status), read_received(message.readings)
    return Inertial(**{**fields, "status": status, "readings": readings})
