"""ROS's readings of inertial sensors as clients take them, and fixed transforms: the rules of the command line
(client/cli/source/bag_file.h, ros/transforms.h)."""
from __future__ import annotations

from typing import Any, Iterable, Iterator, Optional, Sequence

import numpy as np

from glint.errors import InvalidArgument
from glint.inertial import ImuReadings, pose_matrices

_LARGEST = 1e6  # of a reading
_BATCH = 4096  # readings of a sensor in a message



def read(messages: Iterable[Any]) -> "tuple[np.ndarray, np.ndarray, np.ndarray]":
    """Of sensor_msgs/Imu, sorted by time. What the sensor does not measure, by its covariance or since all of it is 0,
    is an empty array."""
    times, values = [], ([], [])  # type: ignore[var-annotated]
    has = [False, False]
    for message in messages:
        times.append(message.header.stamp.sec * 10**9 + message.header.stamp.nanosec)
        for i, name in enumerate(("angular_velocity", "linear_acceleration")):
            v, covariance = getattr(message, name), getattr(message, f"{name}_covariance")
            vector = (v.x, v.y, v.z)
            if not all(abs(number) <= _LARGEST for number in vector):
                raise InvalidArgument(f"{name}: {vector} is not in -1e6..1e6")
            has[i] = has[i] or (covariance[0] != -1 and any(vector))
            values[i].append(vector)
    order = np.argsort(np.array(times, np.int64), kind="stable")
    gyro, accel = (np.array(v if h else [], np.float64).reshape(-1, 3) for v, h in zip(values, has))
    return np.array(times, np.int64)[order], *(v[order] if len(v) else v for v in (gyro, accel))


def readings_of(found: "Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]]", names: Sequence[str]) -> ImuReadings:
    """Of one sensor, or of a gyroscope's and an accelerometer's topics."""
    for i, what in ((0, "angular velocity"), (-1, "acceleration")):
        times, *values = found[i]
        if len(times) < 2:
            raise InvalidArgument(f"{names[i]}: has {len(times)} readings; 2 are needed", field="imu")
        if not len(values[i]):
            raise InvalidArgument(f"{names[i]}: has no {what}", field="imu")
    return ImuReadings(found[0][0], found[0][1], found[-1][2], None if len(found) == 1 else found[1][0])


class Batches:
    """Readings on their way: those up to a pair's time, and one beyond."""

    def __init__(self, readings: ImuReadings, imu_time_minus_camera_time_ns: int):
        self._all, self._offset = readings, imu_time_minus_camera_time_ns
        own = readings.accelerometer_times_ns
        self._times = [np.asarray(readings.times_ns)] + ([] if own is None else [np.asarray(own)])
        self._at = [0] * len(self._times)

    def before(self, time_ns: int) -> "Iterator[ImuReadings]":
        """Those that of() has no room for."""
        while any(end - at > _BATCH for at, end in zip(self._at, self._ends(time_ns))):
            yield self._take([min(at + _BATCH, end) for at, end in zip(self._at, self._ends(time_ns))])

    def of(self, time_ns: int) -> ImuReadings:
        """Those of a pair of this time."""
        return self._take(self._ends(time_ns))

    def _ends(self, time_ns: int) -> "list[int]":
        ends = [int(np.searchsorted(times, time_ns + self._offset, "right")) + 1 for times in self._times]
        return [max(at, min(end, len(times))) for at, end, times in zip(self._at, ends, self._times)]

    def _take(self, ends: "list[int]") -> ImuReadings:
        parts = [slice(at, end) for at, end in zip(self._at, ends)]
        self._at = ends
        own = None if len(parts) == 1 else self._times[1][parts[1]]
        gyro, accel = self._all.angular_velocity[parts[0]], self._all.acceleration[parts[-1]]
        return ImuReadings(self._times[0][parts[0]], gyro, accel, own)


class Transforms:
    """Fixed transforms between frames, as /tf_static has them. Frames have no slash in front."""

    def __init__(self) -> None:
        self._poses: "dict[str, dict[str, np.ndarray]]" = {}  # [first][second]: first from second

    def add(self, message: Any) -> None:
        """Of a tf2_msgs/TFMessage, without those that are none: a rotation not of length 1 by 1 %, a frame twice."""
        for stamped in message.transforms:
            first, second = (name.lstrip("/") for name in (stamped.header.frame_id, stamped.child_frame_id))
            q, t = stamped.transform.rotation, stamped.transform.translation
            numbers = np.array([q.x, q.y, q.z, q.w, t.x, t.y, t.z], np.float64)
            length = float(np.linalg.norm(numbers[:4]))
            if not first or not second or first == second or not abs(length - 1) <= 0.01:
                continue
            numbers[:4] /= length
            if not np.isfinite(numbers).all():
                continue
            pose = pose_matrices(numbers[None])[0]
            self._poses.setdefault(first, {})[second] = pose
            self._poses.setdefault(second, {})[first] = np.linalg.inv(pose)

    def find(self, to: str, start: str) -> Optional[np.ndarray]:
        """float64 (4, 4): takes coordinates in `start` to those in `to`, by the shortest chain; None: there is none."""
        to, start = to.lstrip("/"), start.lstrip("/")
        if not to or not start:
            return None
        reached = {to: np.eye(4)}  # to from frame
        frames = [to]
        for frame in frames:  # which grows
            for other, pose in self._poses.get(frame, {}).items():
                if other not in reached:
                    reached[other] = reached[frame] @ pose
                    frames.append(other)
        return reached.get(start)
