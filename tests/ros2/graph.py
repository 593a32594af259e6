#!/usr/bin/env python3
"""graph.py: what `ros2 node list`, `ros2 topic info --verbose`, `ros2 topic hz` and `ros2 service list` would show of
glint-ros2, as JSON, after it has subscribed to all of it. Warnings of ROS 2 come on standard error."""
import json

import listener as listeners
from rclpy.qos import DurabilityPolicy, ReliabilityPolicy


def endpoint(info):
    qos = info.qos_profile
    return {"type": info.topic_type, "hash": str(info.topic_type_hash), "node": info.node_name,
            "reliable": qos.reliability == ReliabilityPolicy.RELIABLE,
            "latched": qos.durability == DurabilityPolicy.TRANSIENT_LOCAL, "gid": bytes(info.endpoint_gid).hex()}


def main():
    listener = listeners.Listener()
    topics = [*listeners.TOPICS, "/tf", "/tf_static"]
    node = listener.node
    listener.wait(lambda: all(listener.count[topic] for topic in listeners.TOPICS))
    print(json.dumps({
        "nodes": node.get_node_names_and_namespaces(),
        "topics": dict(node.get_topic_names_and_types()),
        "services": dict(node.get_service_names_and_types()),
        "publishers": {t: [endpoint(i) for i in node.get_publishers_info_by_topic(t)] for t in topics},
        "subscriptions": {t: [endpoint(i) for i in node.get_subscriptions_info_by_topic(t)]
                          for t, _ in node.get_topic_names_and_types() if t.startswith("/stereo/")},
        "received": dict(listener.count),
    }))
    listener.close()


if __name__ == "__main__":
    main()
