"""Inertial sensors of a stream of localization: what they are, their readings, and what is known of them."""
from __future__ import annotations

import dataclasses
import enum
from typing import Any, Optional, Sequence, Tuple, Union

import numpy as np

from glint.camera import set_transform
from glint.errors import InternalError, InvalidArgument, invalid
from glint.options import fill, frame_id, nanoseconds
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
    max_wait_for_readings
                     seconds, 0..1, that a pair waits at most for readings at or after its time, which later items may
                     bring; 0: not at all; None: 0.1
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
    max_wait_for_readings: Optional[float] = None


@dataclasses.dataclass(frozen=True, eq=False)
class ImuReadings:
    """Readings in any order, up to 4096 of each sensor: of a glint.LocalizePair, or an item of their own between pairs,
    which is answered by LocalizeResult.imu; then id is any number of 64 bits, returned as it is; None: its place.

    times_ns               (n,) whole numbers, nanoseconds of the sensor's clock
    angular_velocity       (n, 3), rad/s
    acceleration           (n, 3), m/s^2: at rest 9.81 upwards; with accelerometer_times_ns (m, 3)
    accelerometer_times_ns (m,), if they are not the gyroscope's
    poses                  of an item of its own: its answer is to have ImuPoses at times_ns
    """

    times_ns: Union[np.ndarray, Sequence[int]]
    angular_velocity: Any
    acceleration: Any
    accelerometer_times_ns: Union[np.ndarray, Sequence[int], None] = None
    id: Optional[int] = None
    poses: bool = False


UPPER = np.triu_indices(6)  # of a covariance on the wire

ImuLike = Union[ImuReadings, Tuple[Any, Any, Any]]  # (times_ns, angular_velocity, acceleration)


class InertialStatus(enum.IntEnum):
    """What is known of the sensor; proto/glint/v1/localization.proto has each state."""

    INITIALIZING = 1
    READY = 2
    LEFT_OUT = 3


@dataclasses.dataclass(frozen=True, eq=False)
class ImuPoses:
    """Where the sensor says that the left camera was, from the last pair before the ImuReadings on: at each of its
    times_ns that is later than that pair, in order, as far as there are readings of both sensors. Empty unless READY.

    times_ns           int64 (n,), of the images' clock
    world_from_camera  float64 (n, 4, 4), as Location.world_from_camera
    velocities         float64 (n, 3), of the sensor in the world, m/s
    covariances        float64 (n, 6, 6), as Location.covariance
    """

    times_ns: np.ndarray
    world_from_camera: np.ndarray
    velocities: np.ndarray
    covariances: np.ndarray


@dataclasses.dataclass(frozen=True)
class ImuReceived:
    """Readings of a stream so far, and those of them that were not used as they came;
    proto/glint/v1/localization.proto says why. poses: ImuPoses, of an ImuReadings that asked for them; else None."""

    received: int = 0
    late: int = 0
    duplicate: int = 0
    unsorted: int = 0
    missing: int = 0
    saturated: int = 0
    frozen: int = 0
    dropped: int = 0
    poses: Optional[ImuPoses] = dataclasses.field(default=None, compare=False, repr=False)


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
    ahead_of_readings
                    the pair was located before there was a reading of each sensor at or after its time: its pose may
                    depend on the order of items
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
    ahead_of_readings: bool = False


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
    own = ("camera_from_imu", "max_wait_for_readings")
    fill({name: value for name, value in vars(given).items() if name not in own}, message, prefix="imu.")
    if given.max_wait_for_readings is not None:
        message.max_wait_for_readings_ns = nanoseconds(given.max_wait_for_readings, "imu.max_wait_for_readings")
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
    return pb.AddImu(frame_id=frame_id(number), readings=readings_message(given), poses=bool(given.poses))


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


def pose_matrices(poses: np.ndarray) -> np.ndarray:
    """float64 (n, 4, 4) of (n, 7): quaternions of length 1, x, y, z, w, and positions."""
    x, y, z, w, *position = poses.T
    matrices = np.zeros((len(poses), 4, 4))
    matrices[:, :3, 3] = np.stack(position, axis=1)
    matrices[:, 3, 3] = 1
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)),
        (2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)),
        (2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)),
    )
    for row, values in enumerate(rows):
        matrices[:, row, :3] = np.stack(values, axis=1)
    return matrices


def read_received(message: pb.ImuReceived) -> ImuReceived:
    fields = {field.name: getattr(message, field.name) for field in message.DESCRIPTOR.fields}
    return ImuReceived(**{**fields, "poses": _poses(message.poses) if message.HasField("poses") else None})


def _poses(message: pb.ImuPoses) -> ImuPoses:
    times = np.array(message.time_ns, np.int64)
    columns = [(message.pose, 7), (message.velocity, 3), (message.covariance, len(UPPER[0]))]
    if any(len(values) != size * len(times) for values, size in columns):
        raise InternalError("imu.poses: the server's arrays contradict each other")
    poses, velocities, upper = (np.array(values, np.float64).reshape(-1, size) for values, size in columns)
    covariances = np.zeros((len(times), 6, 6))
    covariances[:, UPPER[0], UPPER[1]] = covariances[:, UPPER[1], UPPER[0]] = upper
    return ImuPoses(times, pose_matrices(poses), velocities, covariances)


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
