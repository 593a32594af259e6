"""Topics and messages of recordings, by rosbags."""
from __future__ import annotations

import contextlib
import dataclasses
import os
import pathlib
from typing import Any, Iterator, Optional, Sequence, Union

from glint.errors import GlintError, InvalidArgument, not_one_of

_KINDS = {
    "sensor_msgs/msg/Image": "image",
    "sensor_msgs/msg/CompressedImage": "compressed_image",
    "sensor_msgs/msg/CameraInfo": "camera_info",
    "sensor_msgs/msg/Imu": "imu",
    "tf2_msgs/msg/TFMessage": "transforms",
}


@dataclasses.dataclass(frozen=True)
class Topic:
    """kind: "image", "compressed_image", "camera_info", "imu", "transforms" or "other"; type: as ROS 2 writes it, of a
    topic with several ", " between them; messages: how many there are."""

    name: str
    kind: str
    type: str
    messages: int

    def after(self, other: "Topic") -> "Topic":
        """Both, of one name."""
        same = self.type == other.type
        types = other.type if same else f"{other.type}, {self.type}"
        return Topic(self.name, self.kind if same else "other", types, other.messages + self.messages)


class Reader:
    """A recording. Holds no file open: what iterates opens it anew."""

    def __init__(self, path: "Union[str, os.PathLike[str]]"):
        self.path = pathlib.Path(path)
        _rosbags()
        topics: "dict[str, Topic]" = {}
        with self._open() as (reader, _):
            for found in reader.connections:
                new = Topic(found.topic, _KINDS.get(found.msgtype, "other"), found.msgtype, found.msgcount)
                topics[new.name] = new.after(topics[new.name]) if new.name in topics else new
        self.topics = list(topics.values())

    def find(self, name: Optional[str], kinds: Sequence[str]) -> str:
        """The name of a topic of one of these kinds; None: of the only one. InvalidArgument names them."""
        names = [topic.name for topic in self.topics if topic.kind in kinds]
        if name is None and len(names) == 1:
            return names[0]
        if not names:
            raise InvalidArgument(f"topic: {self.path} has none of {' or '.join(kinds)}", field="topic")
        if name not in names:
            raise not_one_of("topic", name, names)
        return name  # type: ignore[return-value]

    def messages(self, name: str, kinds: Sequence[str]) -> "Iterator[tuple[Any, str]]":
        """Messages of a topic with its kind, in the order of recording."""
        self.find(name, kinds)
        with self._open() as (reader, deserialize):
            wanted = [found for found in reader.connections if found.topic == name]
            for found, _, data in reader.messages(connections=wanted) if wanted else ():
                yield deserialize(data, found.msgtype), _KINDS[found.msgtype]

    def first(self, name: str, kinds: Sequence[str]) -> Any:
        """The first message of a topic."""
        with contextlib.closing(self.messages(name, kinds)) as messages:
            for message, _ in messages:
                return message
        raise InvalidArgument(f"{self.path}: {name}: has no messages", field="topic")

    @contextlib.contextmanager
    def _open(self) -> "Iterator[tuple[Any, Any]]":
        """A reader and what makes messages of its bytes. Their errors, which are of many kinds, name the recording."""
        rosbag1, rosbag2, typesys = _rosbags()
        is_ros1 = self.path.suffix == ".bag"
        try:
            # Types as ROS has them, not those that the recording says: nothing that it has is run.
            store = typesys.get_typestore(typesys.Stores.ROS1_NOETIC if is_ros1 else typesys.Stores.ROS2_HUMBLE)
            add_transforms(store)
            with (rosbag1 if is_ros1 else rosbag2).Reader(self.path) as reader:
                yield reader, store.deserialize_ros1 if is_ros1 else store.deserialize_cdr
        except (GlintError, OSError):
            raise
        except Exception as error:
            raise InvalidArgument(f"{self.path}: cannot be read: {error or type(error).__name__}") from error


def add_transforms(store: Any) -> None:
    """Adds tf2_msgs/TFMessage, which rosbags does not know."""
    _, _, typesys = _rosbags()
    text = "geometry_msgs/TransformStamped[] transforms"
    store.register(typesys.get_types_from_msg(text, "tf2_msgs/msg/TFMessage"))


def _rosbags() -> "tuple[Any, Any, Any]":
    try:
        from rosbags import rosbag1, rosbag2, typesys
    except ImportError as error:
        raise ImportError(f"{error}: reading recordings needs rosbags (pip install 'glint[bags]')") from None
    return rosbag1, rosbag2, typesys
