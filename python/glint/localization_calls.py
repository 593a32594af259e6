"""The stream of localization of both clients, as calls.py has those of detection."""
from __future__ import annotations

from typing import Any, Optional, Union

from glint import channel as ch
from glint import localization_messages
from glint import options as opt
from glint.call import WINDOW, Items, Sent, StreamCall, sent, set_parts, stream_call, stream_options, wrong_pair
from glint.camera import RgbdCamera, rgbd_message
from glint.image import ImageLike, mask_message
from glint.inertial import Imu, ImuReadings, imu_message
from glint.localization import (
    DepthCamera,
    GetMap,
    LoadMap,
    LocalizeItem,
    LocalizePair,
    LocalizeResult,
    SaveMap,
    StereoCamera,
)
from glint.options import Detector
from glint.stereo_rig import StereoRig, rig_message
from glint.v1 import localization_pb2


def localize_stream(
    pairs: Items[Union["tuple[ImageLike, ImageLike]", ImageLike, LocalizeItem]],
    camera: Union[StereoCamera, StereoRig, RgbdCamera],
    preset: Optional[Detector] = None,
    *,
    depth: Optional[DepthCamera] = None,
    imu: Optional[Imu] = None,
    refine_rig: Optional[str] = None,
    mode: Optional[str] = None,
    mask: Optional[ImageLike] = None,
    right_mask: Optional[ImageLike] = None,
    region: Optional[opt.Region] = None,
    window: int = WINDOW,
    policy: Optional[str] = None,
    max_age: Optional[float] = None,
    gray_range: Optional[opt.GrayRange] = None,
    timeout: Optional[float] = None,
    **fields: Any,
) -> StreamCall[LocalizeResult]:
    """Where a stereo camera is, or one with depth: a LocalizeResult for each pair or request, in order.

    pairs        (left, right); one image with both side by side; glint.LocalizePair for a time, an id, or to find
                 it in the map; and glint.GetMap, SaveMap, LoadMap or ImuReadings between them. With `depth`:
                 (left, depth)
    camera       glint.StereoCamera of rectified images; or glint.StereoRig of raw ones: the server rectifies them, and
                 poses are of the rectified left camera in Location.rectified; or, with `depth`, glint.RgbdCamera of raw
                 images and depths, and poses are of the camera in Location.rectified
    depth        glint.DepthCamera: a camera and a sensor of depth in place of two cameras
    imu          glint.Imu: an inertial sensor, whose readings come with pairs (glint.LocalizePair) or between them
    preset       of the detector, which must have descriptors ("orbslam"); max_features is 2000 unless it is given
    refine_rig   the rotation that rectification left behind: "on" (the default), "off" or "fixed"; with `depth` "off"
    mode         "reproducible" (the default): the same pairs give the same poses; or "realtime"
    mask, right_mask, region
                 as for stereo_stream(); with `depth` there is no right_mask
    fields       of DetectorOptions. window, policy, max_age, gray_range and timeout as for stream(); requests are never
                 dropped

    Errors are those of stream().
    """
    kind = localization_pb2.LocalizeStreamOptions
    options = stream_options(kind, policy, window, max_age, gray_range, detector=opt.split(preset, fields))
    opt.fill({"refine_rig": refine_rig, "mode": mode}, options)
    if isinstance(camera, StereoRig):
        options.rig.CopyFrom(rig_message(camera))
    elif isinstance(camera, RgbdCamera):
        options.raw_camera.CopyFrom(rgbd_message(camera, "camera"))
    else:
        options.camera.CopyFrom(localization_messages.camera(camera))
    if depth is not None or isinstance(camera, RgbdCamera):
        options.depth.CopyFrom(localization_messages.depth_camera(depth))
    masks = {"mask": mask_message(mask), "right_mask": mask_message(right_mask, "right_mask")}
    set_parts(options, region=opt.region(region), imu=imu_message(imu), **masks)
    second = "right" if depth is None else "depth"

    def send(item: Any, index: int) -> Sent:
        if isinstance(item, tuple):
            if len(item) != 2:
                raise wrong_pair(item, second, index)
            item = LocalizePair(item[0], **{second: item[1]})
        elif not isinstance(item, (LocalizePair, GetMap, SaveMap, LoadMap, ImuReadings)):
            item = LocalizePair(item)
        data = localization_messages.localize_item(index if item.id is None else item.id, item)
        is_pair = isinstance(item, LocalizePair)
        images = (item.left, item.right, item.depth, item.mask, item.right_mask) if is_pair else ()
        return sent(data, None, *images)

    name, read = ch.LOCALIZATION + "LocalizeStream", localization_messages.parse_localize_result
    return stream_call(name, localization_pb2.LocalizeStreamRequest, options, pairs, send, read, window, timeout)
