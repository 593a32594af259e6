"""Inertial sensors: what is sent of them and their readings, what is read of answers, and what is refused."""
import unittest

import numpy as np

import glint
from glint import calls, localization_messages
from glint.v1 import localization_pb2

CAMERA = glint.StereoCamera(6, 4, 5, baseline=0.1)
IMAGE = np.zeros((4, 6), np.uint8)
TIMES = np.array([10**18, 10**18 + 5 * 10**6])
GYRO, ACCEL = np.array([[1, 2, 3], [4, 5, 6]]) / 8, [[0, 0, 9.75], [0.5, 0, 9.5]]
READINGS = (TIMES, GYRO, ACCEL)


def sensor(imu):
    first = calls.localize_stream([], CAMERA, imu=imu).first
    return localization_pb2.LocalizeStreamRequest.FromString(first).options.imu


def pair(imu):
    data = localization_messages.localize_item(3, glint.LocalizePair(IMAGE, IMAGE, time_ns=7, imu=imu))
    message = localization_pb2.LocalizeStreamRequest.FromString(data)
    assert message.SerializeToString() == data
    return message.pair


class WriteTest(unittest.TestCase):
    def refused(self, field, make, text=""):
        with self.assertRaises(glint.InvalidArgument) as caught:
            make()
        self.assertEqual(caught.exception.field, field)
        self.assertIn(text, str(caught.exception))

    def test_the_sensor(self):
        turn, shift = [[0, -1, 0], [0, 0, -1], [1, 0, 0]], [0.1, 0.2, 0.3]
        short = np.column_stack((turn, shift))
        square = np.vstack((short, [0, 0, 0, 1]))
        for given in (short, square, square.tolist(), (np.array(turn), shift)):
            message = sensor(glint.Imu(given))
            self.assertEqual(list(message.camera_from_imu.rotation), [0, -1, 0, 0, 0, -1, 1, 0, 0])
            self.assertEqual([getattr(message.camera_from_imu, axis) for axis in "xyz"], shift)
            self.assertEqual(message.gyroscope_noise_density, 0)
        names = (
            "gyroscope_noise_density gyroscope_random_walk accelerometer_noise_density accelerometer_random_walk "
            "noise_inflation gravity imu_time_minus_camera_time_ns gyroscope_range accelerometer_range"
        ).split()
        known = [field.name for field in localization_pb2.InertialSensor.DESCRIPTOR.fields]
        self.assertEqual(sorted(["camera_from_imu", "max_wait_for_readings_ns", *names]), sorted(known))
        self.assertFalse(message.HasField("max_wait_for_readings_ns"))
        for seconds in (0, 0.25):  # 0 is no default
            waits = sensor(glint.Imu(square, max_wait_for_readings=seconds))
            self.assertTrue(waits.HasField("max_wait_for_readings_ns"))
            self.assertEqual(waits.max_wait_for_readings_ns, seconds * 10**9)
        self.refused("imu.max_wait_for_readings", lambda: sensor(glint.Imu(square, max_wait_for_readings="x")), "")
        values = {name: number for number, name in enumerate(names, 2)}
        values["imu_time_minus_camera_time_ns"] = -5
        message = sensor(glint.Imu(square, **values))
        self.assertEqual({name: getattr(message, name) for name in names}, values)
        first = calls.localize_stream([], CAMERA).first
        self.assertFalse(localization_pb2.LocalizeStreamRequest.FromString(first).options.HasField("imu"))

    def test_bad_sensors(self):
        square = np.eye(4)
        square[3, 0] = 1
        self.refused("imu", lambda: sensor("imu0"), "is not glint.Imu")
        self.refused("imu.camera_from_imu", lambda: sensor(glint.Imu(np.eye(3))), "is not (4, 4) or (3, 4) numbers")
        self.refused("imu.camera_from_imu", lambda: sensor(glint.Imu("imu.yaml")))
        self.refused("imu.camera_from_imu", lambda: sensor(glint.Imu(square)), "is not the last row 0 0 0 1")
        self.refused("imu.camera_from_imu.R", lambda: sensor(glint.Imu((np.eye(2), [0, 0, 0]))), "is not 9 numbers")
        self.refused("imu.camera_from_imu.T", lambda: sensor(glint.Imu((np.eye(3), [0, 0]))), "is not 3 numbers")
        self.refused("imu.gravity", lambda: sensor(glint.Imu(np.eye(4), gravity="earth")))
        self.refused(
            "imu.imu_time_minus_camera_time_ns",
            lambda: sensor(glint.Imu(np.eye(4), imu_time_minus_camera_time_ns=0.5)),
        )

    def test_readings_of_a_pair(self):
        for given in (READINGS, glint.ImuReadings(*READINGS), (TIMES.tolist(), GYRO.tolist(), np.float32(ACCEL))):
            message = pair(given).imu
            self.assertEqual(list(message.gyroscope_time_ns), TIMES.tolist())
            self.assertEqual(list(message.angular_velocity), GYRO.ravel().tolist())
            self.assertEqual(list(message.accelerometer_time_ns), [])
            self.assertEqual(list(message.acceleration), [0, 0, 9.75, 0.5, 0, 9.5])
        apart = pair(glint.ImuReadings(TIMES, GYRO, [[0, 0, 9]], accelerometer_times_ns=[-5])).imu
        self.assertEqual((list(apart.accelerometer_time_ns), list(apart.acceleration)), ([-5], [0, 0, 9]))
        one = pair(glint.ImuReadings(TIMES, GYRO, [], accelerometer_times_ns=[])).imu
        self.assertEqual((len(one.gyroscope_time_ns), len(one.acceleration)), (2, 0))
        self.assertFalse(pair(None).HasField("imu"))

    def test_readings_alone(self):
        stream = calls.localize_stream([], CAMERA, imu=glint.Imu(np.eye(4)))
        for given, number in ((glint.ImuReadings(*READINGS), 4), (glint.ImuReadings(*READINGS, id=1 << 63), 1 << 63)):
            message = localization_pb2.LocalizeStreamRequest.FromString(stream.send(given, 4).data)
            self.assertEqual((message.WhichOneof("message"), message.add_imu.frame_id), ("add_imu", number))
            self.assertEqual(message.add_imu.readings, pair(READINGS).imu)
            self.assertFalse(message.add_imu.poses)
        data = stream.send(glint.ImuReadings(*READINGS, poses=True), 4).data
        self.assertTrue(localization_pb2.LocalizeStreamRequest.FromString(data).add_imu.poses)

    def test_bad_readings(self):
        for field, given in (
            ("imu", "imu.csv"),
            ("imu", (TIMES, GYRO)),
            ("imu.times_ns", (TIMES / 1e9, GYRO, ACCEL)),
            ("imu.times_ns", ([TIMES], GYRO, ACCEL)),
            ("imu.times_ns", (np.array([1 << 63, 2], np.uint64), GYRO, ACCEL)),
            ("imu.angular_velocity", (TIMES, GYRO[:1], ACCEL)),
            ("imu.angular_velocity", (TIMES, GYRO.ravel(), ACCEL)),
            ("imu.acceleration", (TIMES, GYRO, [[1, 2], [3, 4]])),
            ("imu.acceleration", (TIMES, GYRO, "nothing")),
            ("imu.acceleration", glint.ImuReadings(TIMES, GYRO, ACCEL, accelerometer_times_ns=[5])),
            ("imu.accelerometer_times_ns", glint.ImuReadings(TIMES, GYRO, ACCEL, accelerometer_times_ns=[0.5, 1.5])),
        ):
            self.refused(field, lambda given=given: pair(given))


class ReadTest(unittest.TestCase):
    def test_of_a_pair(self):
        message = localization_pb2.LocalizeStreamResponse(frame_id=7)
        place = message.location
        place.status, place.pose.qw = int(glint.LocationStatus.COASTING), 1
        place.covariance.extend(range(21))
        read = localization_messages.parse_localize_result
        self.assertIsNone(read(message.SerializeToString()).location.inertial)
        imu = place.inertial
        imu.status = int(glint.InertialStatus.INITIALIZING)
        early = read(message.SerializeToString()).location.inertial
        self.assertEqual((early.status, early.level), (glint.InertialStatus.INITIALIZING, False))
        self.assertEqual([early.velocity, early.gyroscope_bias, early.accelerometer_bias], [None] * 3)
        self.assertEqual(early.readings, glint.ImuReceived())
        imu.status, imu.level = int(glint.InertialStatus.READY), True
        for number, vector in enumerate((imu.velocity, imu.gyroscope_bias, imu.accelerometer_bias)):
            vector.x, vector.y, vector.z = number, number + 0.25, number + 0.5
        numbers = (
            "velocity_sigma gyroscope_bias_sigma accelerometer_bias_sigma rotation_innovation position_innovation"
        ).split()
        for number, name in enumerate(numbers, 1):
            setattr(imu, name, number / 4)
        imu.blind_ns, imu.ahead_of_readings = 150000000, True
        names = [field.name for field in localization_pb2.ImuReceived.DESCRIPTOR.fields if field.name != "poses"]
        counts = {name: n for n, name in enumerate(names, 1)}
        imu.readings.CopyFrom(localization_pb2.ImuReceived(**counts))
        found = read(message.SerializeToString()).location
        self.assertIsNotNone(found.covariance)
        self.assertFalse(found.located)
        self.assertEqual((found.inertial.status, found.inertial.level), (glint.InertialStatus.READY, True))
        self.assertEqual(found.inertial.velocity.tolist(), [0, 0.25, 0.5])
        self.assertEqual(found.inertial.gyroscope_bias.tolist(), [1, 1.25, 1.5])
        self.assertEqual(found.inertial.accelerometer_bias.tolist(), [2, 2.25, 2.5])
        self.assertEqual([getattr(found.inertial, name) for name in numbers], [0.25, 0.5, 0.75, 1, 1.25])
        self.assertEqual((found.inertial.blind_ns, found.inertial.ahead_of_readings), (150000000, True))
        self.assertEqual(found.inertial.readings, glint.ImuReceived(**counts))
        known = [field.name for field in localization_pb2.Inertial.DESCRIPTOR.fields]
        self.assertEqual(sorted(glint.Inertial.__dataclass_fields__), sorted(known))
        imu.status = 9
        with self.assertRaisesRegex(glint.InternalError, "inertial: the server's status is 9"):
            read(message.SerializeToString())

    def test_poses_of_readings(self):
        message = localization_pb2.LocalizeStreamResponse(frame_id=7)
        poses = message.imu.poses
        poses.SetInParent()
        read = localization_messages.parse_localize_result
        self.assertEqual(read(message.SerializeToString()).imu.poses.covariances.shape, (0, 6, 6))
        for n in range(2):
            poses.time_ns.append(5 + n)
            poses.pose.extend([0, 0, 0.6, 0.8, 1, 2, 3 + n])
            poses.velocity.extend([4, 5, 6 + n])
            poses.covariance.extend(range(n, n + 21))
        found = read(message.SerializeToString()).imu.poses
        self.assertEqual(found.times_ns.tolist(), [5, 6])
        np.testing.assert_allclose(found.world_from_camera[1][:2], [[0.28, -0.96, 0, 1], [0.96, 0.28, 0, 2]])
        self.assertEqual(found.world_from_camera[1][2:].tolist(), [[0, 0, 1, 4], [0, 0, 0, 1]])
        self.assertEqual(found.velocities.tolist(), [[4, 5, 6], [4, 5, 7]])
        self.assertEqual(found.covariances[0][1].tolist(), [1, 6, 7, 8, 9, 10])
        self.assertEqual(found.covariances[1][5].tolist(), [6, 11, 15, 18, 20, 21])
        poses.velocity.append(1)
        with self.assertRaisesRegex(glint.InternalError, "imu.poses: the server's arrays contradict each other"):
            read(message.SerializeToString())

    def test_of_readings(self):
        message = localization_pb2.LocalizeStreamResponse(frame_id=7, imu={"received": 12, "late": 3})
        result = localization_messages.parse_localize_result(message.SerializeToString())
        self.assertEqual((result.frame_id, result.imu), (7, glint.ImuReceived(received=12, late=3)))
        self.assertIsNone(result.imu.poses)
        with self.assertRaises(glint.InvalidArgument):
            result.location.position.sum()
        other = localization_pb2.LocalizeStreamResponse(frame_id=7)
        with self.assertRaises(glint.InvalidArgument):
            localization_messages.parse_localize_result(other.SerializeToString()).imu.received.bit_length()


if __name__ == "__main__":
    unittest.main()
