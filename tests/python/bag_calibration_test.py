"""glint.bags: cameras of CameraInfo, and inertial sensors."""
import unittest

import numpy as np

import glint
from bag_maker import HEIGHT, START, STEP, WIDTH, OfEachKind, setUpModule
from glint import calls, localization_messages
from glint.v1 import localization_pb2

K0, K1 = np.array([[50, 0, 32], [0, 51, 24], [0, 0, 1.0]]), np.array([[52, 0, 31], [0, 53, 23], [0, 0, 1.0]])
LENS = [-0.28, 0.07, 0.0002, 1.7e-05, 0.1]
TURN = np.array([[np.cos(0.1), -np.sin(0.1), 0], [np.sin(0.1), np.cos(0.1), 0], [0, 0, 1]])
P0 = np.array([[45, 0, 30, 0], [0, 45, 25, 0], [0, 0, 1, 0.0]])
P1 = np.array([[45, 0, 30, -9], [0, 45, 25, 0], [0, 0, 1, 0.0]])  # a baseline of 0.2 m


class CameraTest(OfEachKind):
    def fill(self, maker):
        image = np.zeros((HEIGHT, WIDTH), np.uint8)
        for name in ("/l/image_raw", "/r/image_raw", "/l/image_rect", "/r/image_rect", "/plain0/image", "/plain1/image",
                     "/fish/image", "/odd/image", "/binned/image", "/none/image", "/d/image"):
            maker.image(name, START, image)
        maker.info("/l/camera_info", START, K0, LENS, np.eye(3), P0)
        maker.info("/l/camera_info", START + 1, K1, LENS, np.eye(3), P0)  # later ones do not count
        maker.info("/r/camera_info", START, K1, LENS + [0.1, 0.2, 0.3], TURN, P1, "rational_polynomial")
        maker.info("/plain0/camera_info", START, P0[:, :3], [0] * 5, np.eye(3), P0)
        maker.info("/plain1/camera_info", START, P0[:, :3], [], np.eye(3), P1)
        maker.info("/fish/camera_info", START, K0, [0, 0, 0, 0], np.zeros(9), np.zeros(12), "equidistant")
        maker.info("/odd/camera_info", START, K0, LENS, np.eye(3), P0, "spline")
        maker.info("/binned/camera_info", START, K0, LENS, np.eye(3), P0, binning_x=2)
        maker.info("/none/camera_info", START, np.zeros(9), [], np.zeros(9), np.zeros(12))
        maker.info("/d/camera_info", START, K0, LENS, np.eye(3), P0)

    def test_cameras(self):
        for bag in self.each("cameras", self.fill):
            rig = bag.stereo_camera("/l/image_raw", "/r/image_raw")
            self.assertIsInstance(rig, glint.StereoRig)
            self.assertEqual((rig.size, rig.D1, rig.D2), ((WIDTH, HEIGHT), LENS, LENS + [0.1, 0.2, 0.3]))
            self.assertTrue((rig.K1 == K0).all() and (rig.K2 == K1).all())
            # A point of the left camera's, seen by both projections.
            point = np.array([0.3, -0.2, 2])
            left, right = np.append(point, 1), np.append(TURN @ (rig.R @ point + rig.T), 1)
            self.assertTrue(np.allclose(P1 @ left, np.append(P0[:, :3], [[0]] * 3, 1) @ right, atol=1e-12))
            calls.localize_stream([], rig)  # which takes it

            for pair in (("/l/image_rect", "/r/image_rect"), ("/plain0/image", "/plain1/image")):
                camera = bag.stereo_camera(*pair)
                self.assertIsInstance(camera, glint.StereoCamera)
                self.assertTrue((camera.left_projection == P0).all() and (camera.right_projection == P1).all())
                calls.localize_stream([], camera)
            self.assertIsInstance(bag.stereo_camera("/l/image_raw", "/r/image_raw", True), glint.StereoCamera)
            self.assertIsInstance(bag.stereo_camera("/plain0/image", "/plain1/image", False), glint.StereoRig)
            self.refused(None, lambda: bag.stereo_camera("/l/image_raw", "/r/image_rect"), "by their names")
            self.refused("p", lambda: bag.stereo_camera("/l/image_raw", "/fish/image"), "nothing says where")
            self.refused("p", lambda: bag.stereo_camera("/l/image_raw", "/d/image"), "has no baseline")

            fish = bag.camera("/fish/image")
            self.assertEqual((fish.D, fish.model), ([0, 0, 0, 0], "kannala-brandt"))
            self.assertEqual(bag.camera("/l/image_raw").D, LENS)
            self.refused("distortion_model", lambda: bag.camera("/odd/image"), "/odd/camera_info: distortion_model: ")
            self.refused("binning_x", lambda: bag.camera("/binned/image"), "binned")
            self.refused("k", lambda: bag.camera("/none/image"), "is not calibrated")

            depth = bag.rgbd_camera("/l/image_raw", "/d/image", baseline=0.05)
            self.assertEqual((depth.camera.D, depth.baseline), (LENS, 0.05))
            calls.localize_stream([], depth, depth=glint.DepthCamera())
            rectified = bag.rgbd_camera("/l/image_rect", "/d/image")
            self.assertTrue((rectified.left_projection == P0).all())
            self.refused("depth", lambda: bag.rgbd_camera("/r/image_raw", "/d/image"), "registered")


class ImuTest(OfEachKind):
    CAM = "/cam/image_raw"

    def test_readings_come_with_pairs(self):
        rows = np.random.default_rng(3).normal(size=(9000, 6))
        times = START + np.arange(9000) * 100_000  # 0.9 s

        def fill(maker):
            for i in np.argsort(np.arange(9000) % 7, kind="stable"):  # recorded in another order
                maker.imu("/imu", int(times[i]), rows[i, :3], rows[i, 3:])
            for i in (0, 1, 17):
                maker.image(self.CAM, START + i * STEP, np.zeros((HEIGHT, WIDTH), np.uint8))

        for bag in self.each("imu", fill):
            found = bag.imu("/imu")
            self.assertEqual(found.times_ns.tolist(), times.tolist())
            self.assertTrue((found.angular_velocity == rows[:, :3]).all() and (found.acceleration == rows[:, 3:]).all())
            for offset in (0, 20_000_000):
                items = list(bag.localize_items(self.CAM, imu="/imu", imu_time_minus_camera_time_ns=offset))
                self.assertEqual([type(item).__name__ for item in items],
                                 ["LocalizePair", "LocalizePair", "ImuReadings", "LocalizePair"])
                taken = [item if isinstance(item, glint.ImuReadings) else item.imu for item in items]
                joined = np.concatenate([one.times_ns for one in taken])
                self.assertEqual(joined.tolist(), times[: len(joined)].tolist())
                self.assertTrue((np.concatenate([one.acceleration for one in taken]) == rows[: len(joined), 3:]).all())
                ends = [items[0].time_ns, items[1].time_ns, None, items[3].time_ns]
                for end, one in zip(ends, taken):
                    self.assertLessEqual(len(one.times_ns), 4096)
                    if end is not None:
                        self.assertEqual(sum(one.times_ns > end + offset), 1)  # one beyond
                message = localization_messages.localize_item(1, items[1])
                pair = localization_pb2.LocalizeStreamRequest.FromString(message).pair
                self.assertEqual(list(pair.imu.gyroscope_time_ns), taken[1].times_ns.tolist())

    def test_two_topics_and_what_is_missing(self):
        def fill(maker):
            for i in range(4):
                maker.imu("/gyro", START + 3 * i, (1, i, 2), (0, 0, 0))
                maker.imu("/accel", START + 5 * i, (0.5, 0, 0), (i, 0, 9), missing=("angular_velocity",))
            maker.imu("/one", START, (1, 2, 3), (1, 2, 3))
            maker.imu("/wild", START, (1e7, 2, 3), (1, 2, 3))
            maker.image(self.CAM, START + 7, np.zeros((HEIGHT, WIDTH), np.uint8))

        for bag in self.each("two", fill):
            found = bag.imu(("/gyro", "/accel"))
            self.assertEqual(found.times_ns.tolist(), [START, START + 3, START + 6, START + 9])
            self.assertEqual(found.accelerometer_times_ns.tolist(), [START, START + 5, START + 10, START + 15])
            self.assertEqual(found.angular_velocity[:, 1].tolist(), [0, 1, 2, 3])
            self.assertEqual(found.acceleration[:, 0].tolist(), [0, 1, 2, 3])
            (item,) = bag.localize_items(self.CAM, imu=("/gyro", "/accel"))
            self.assertEqual(item.imu.times_ns.tolist(), [START, START + 3, START + 6, START + 9])
            self.assertEqual(item.imu.accelerometer_times_ns.tolist(), [START, START + 5, START + 10])
            self.refused("imu", lambda: bag.imu("/gyro"), "/gyro: has no acceleration")
            self.refused("imu", lambda: bag.imu("/accel"), "/accel: has no angular velocity")
            self.refused("imu", lambda: bag.imu("/one"), "has 1 readings; 2 are needed")
            self.refused(None, lambda: bag.imu("/wild"), "/wild: angular_velocity: ", "is not in -1e6..1e6")
            self.refused("topic", lambda: bag.imu("/no"), "is not one of /gyro, /accel, /one, /wild")

    def test_where_the_sensor_is(self):
        half = np.sqrt(0.5)

        def fill(maker):
            maker.image("/cam/image_raw", START, np.zeros((HEIGHT, WIDTH), np.uint8))
            maker.image("/cam/image_rect", START, np.zeros((HEIGHT, WIDTH), np.uint8))
            maker.info("/cam/camera_info", START, K0, LENS, TURN, P0)
            maker.imu("/imu", START, (1, 2, 3), (1, 2, 3), frame="imu")
            maker.imu("/lost", START, (1, 2, 3), (1, 2, 3), frame="lost")
            maker.static("base", "/camera", (1, 2, 3), (0, 0, half, half))  # its x is the base's y
            maker.static("base", "imu", (1, 2, 3.5), (0, 0, 0, 1))

        expected = np.array([[0, 1, 0, 0], [-1, 0, 0, 0], [0, 0, 1, 0.5], [0, 0, 0, 1]])
        for bag in self.each("static", fill):
            self.assertTrue(np.allclose(bag.camera_from_imu("/cam/image_raw", "/imu"), expected, atol=1e-12))
            rectified = np.eye(4)
            rectified[:3, :3] = TURN
            self.assertTrue(np.allclose(bag.camera_from_imu("/cam/image_rect", "/imu"), rectified @ expected))
            self.assertIsNone(bag.camera_from_imu("/cam/image_raw", "/lost"))


if __name__ == "__main__":
    unittest.main()
