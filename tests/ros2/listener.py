"""What a user of glint-ros2's topics sees: an rclpy node that keeps what comes."""
import collections
import threading
import time

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseWithCovarianceStamped
from nav_msgs.msg import Odometry, Path
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import PointCloud2
from std_msgs.msg import String
from std_srvs.srv import Trigger
from stereo_msgs.msg import DisparityImage

RELIABLE = QoSProfile(depth=10)
ALL = QoSProfile(depth=1000)  # also while this process is busy
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
BEST_EFFORT = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
TOPICS = {
    "/odometry": (Odometry, ALL),
    "/pose": (PoseWithCovarianceStamped, ALL),
    "/path": (Path, LATCHED),
    "/map_points": (PointCloud2, LATCHED),
    "/keypoints": (PointCloud2, BEST_EFFORT),
    "/tracks": (PointCloud2, BEST_EFFORT),
    "/stereo_points": (PointCloud2, BEST_EFFORT),
    "/disparity": (DisparityImage, BEST_EFFORT),
    "/diagnostics": (DiagnosticArray, RELIABLE),
}


def nanoseconds(stamp):
    return stamp.sec * 10**9 + stamp.nanosec


class Listener:
    """Spins on a thread of its own until closed. `messages`: the last of each topic, of poses all."""

    def __init__(self, *topics):
        rclpy.init(signal_handler_options=rclpy.signals.SignalHandlerOptions.NO)
        self.node = rclpy.create_node("listener")
        self.count = collections.Counter()
        self.messages = collections.defaultdict(lambda: collections.deque(maxlen=256))
        for topic in ("/odometry", "/pose"):
            self.messages[topic] = collections.deque()
        self._news = threading.Condition()
        for topic in topics or TOPICS:
            self.subscribe(topic)
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self.node)
        self._thread = threading.Thread(target=self._spin, daemon=True)
        self._thread.start()

    def subscribe(self, topic, name=None, qos=None):
        """Under `name`, if this is another subscription of the topic."""
        kind, usual = TOPICS[topic]

        def take(message):
            with self._news:
                self.count[name or topic] += 1
                self.messages[name or topic].append(message)
                self._news.notify_all()

        return self.node.create_subscription(kind, topic, take, qos or usual)

    def _spin(self):
        try:
            self._executor.spin()
        except rclpy.executors.ExternalShutdownException:
            pass

    def close(self):
        self._executor.shutdown()
        self._thread.join(60)
        self.node.destroy_node()
        rclpy.shutdown()

    def wait(self, condition, seconds=60):
        """Until condition() after some message; whether it came."""
        with self._news:
            return self._news.wait_for(condition, seconds)

    def wait_for(self, topic, count=1, seconds=60):
        return self.wait(lambda: self.count[topic] >= count, seconds)

    def stamps(self, topic):
        with self._news:
            return [nanoseconds(m.header.stamp) for m in self.messages[topic]]

    def statuses(self):
        """The last of each name: {name: {"level", "message", key: value}}."""
        found = {}
        with self._news:
            arrays = list(self.messages["/diagnostics"])
        for array in arrays[-20:]:
            for status in array.status:
                level = status.level[0] if isinstance(status.level, bytes) else status.level
                figures = {v.key: v.value for v in status.values}
                found[status.name] = {**figures, "level": level, "message": status.message}
        return found

    def figures(self, part):
        """{key: number} of a part of glint-ros2, as /diagnostics said last."""
        found = {}
        for key, value in self.statuses().get(f"glint: {part}", {}).items():
            try:
                found[key] = float(value)
            except ValueError:
                pass
        return found

    def finds_publishers(self):
        """Whether glint-ros2 has a publisher for each of its subscriptions, by its last /diagnostics."""
        found = [n for key, n in self.figures("input").items() if key.endswith(" publishers") and "incompat" not in key]
        return bool(found) and min(found) > 0

    def level(self, part):
        """0: all well; 1: a warning; 2: an error; 3: not heard of."""
        return self.statuses().get(f"glint: {part}", {"level": 3})["level"]

    def say(self, topic, text):
        """std_msgs/String, once somebody reads it."""
        publisher = self.node.create_publisher(String, topic, RELIABLE)
        while publisher.get_subscription_count() == 0:
            time.sleep(0.02)
        publisher.publish(String(data=text))

    def call(self, service, seconds=30):
        """Trigger: (success, message); None if there is no answer."""
        client = self.node.create_client(Trigger, service)
        try:
            if not client.wait_for_service(seconds):
                return None
            done = threading.Event()
            future = client.call_async(Trigger.Request())
            future.add_done_callback(lambda _: done.set())
            return (future.result().success, future.result().message) if done.wait(seconds) else None
        finally:
            self.node.destroy_client(client)
