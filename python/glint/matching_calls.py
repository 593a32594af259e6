"""The calls of matching of both clients, as calls.py has those of detection."""
from __future__ import annotations

import functools
from typing import Any, Optional, Union

from glint import channel as ch
from glint import matching_messages
from glint import options as opt
from glint.call import WINDOW, Call, Items, Sent, StreamCall, sent, set_parts, stream_call, stream_options, wrong_pair
from glint.camera import Camera, optional_camera
from glint.errors import invalid
from glint.image import ImageLike, mask_message
from glint.matching import ForgetSet, Matches, MatchResult, Pair, Side, StereoPair, StereoResult, UpdateSet
from glint.options import Detector
from glint.stereo_rig import StereoRig, rig_message
from glint.v1 import matching_pb2


def _given(lenses: "tuple[Any, Any]") -> "tuple[bool, bool]":
    return lenses[0] is not None, lenses[1] is not None


def match(
    query: Side,
    train: Side,
    preset: Optional[Detector] = None,
    *,
    windows: Optional[Any] = None,
    octaves: Optional[Any] = None,
    gray_range: Optional[opt.GrayRange] = None,
    query_camera: Optional[Camera] = None,
    train_camera: Optional[Camera] = None,
    timeout: Optional[float] = ch.CALL_TIMEOUT,
    **fields: Any,
) -> Call[Matches]:
    """Matches of two sets of descriptors by Hamming distance.

    query, train  images, whose features are found first; glint.Features; glint.Descriptors; or uint8 arrays of
                  (n, bytes) with at most 64 columns (a wider array is a grey image)
    preset        of the detector, for images ("orb")
    windows       (x, y, radius) of each query's partner, octaves (lowest, highest); see glint.Pair
    gray_range    of images, as for detect(), and so is timeout
    query_camera, train_camera
                  glint.Camera of a side that is an image, whose size it has: query_features or train_features have rays
    fields        of MatchOptions: k=2, cross_check=True, ratio=0.8, max_distance=64, max_angle_difference=20,
                  rotation_histogram=True, window_radius=40, max_octave_difference=1; and of DetectorOptions
    """
    options = matching_pb2.MatchOptions()
    detector = opt.split(preset, fields, options)
    grays = opt.gray_range(gray_range)
    lenses = optional_camera(query_camera, "query_camera"), optional_camera(train_camera, "train_camera")

    def request() -> bytes:
        return matching_messages.match_request(detector, options, query, train, windows, octaves, grays, *lenses)

    def read(data: bytes) -> Matches:
        return matching_messages.parse_match(data, query, train, _given(lenses))

    return Call(ch.MATCHING + "Match", request, read, timeout, in_turn=True)


def match_stream(
    pairs: Items[Union["tuple[Side, Side]", Pair, UpdateSet, ForgetSet]],
    preset: Optional[Detector] = None,
    *,
    window: int = WINDOW,
    policy: Optional[str] = None,
    max_age: Optional[float] = None,
    gray_range: Optional[opt.GrayRange] = None,
    query_camera: Optional[Camera] = None,
    train_camera: Optional[Camera] = None,
    timeout: Optional[float] = None,
    **fields: Any,
) -> StreamCall[MatchResult]:
    """Matches of many pairs with the same options, one MatchResult for each pair or edit, in their order.

    pairs    (query, train), or glint.Pair with what is its own; a side may be the name of a set that the stream keeps
             and that glint.UpdateSet changes and glint.ForgetSet ends. Edits are answered with set_size.
    fields   as for match(), and so are query_camera and train_camera; window, policy, max_age, gray_range and timeout
             as for stream(). Edits are never dropped.

    Errors are those of stream().
    """
    match_options = matching_pb2.MatchOptions()
    detector = opt.split(preset, fields, match_options)
    kind = matching_pb2.MatchStreamOptions
    options = stream_options(kind, policy, window, max_age, gray_range, detector=detector, match=match_options)
    lenses = optional_camera(query_camera, "query_camera"), optional_camera(train_camera, "train_camera")
    set_parts(options, query_camera=lenses[0], train_camera=lenses[1])

    def send(item: Any, index: int) -> Sent:
        if isinstance(item, tuple) and len(item) == 2:
            item = Pair(*item)
        if not isinstance(item, (Pair, UpdateSet, ForgetSet)):
            why = f"is not (query, train), glint.Pair, glint.UpdateSet or glint.ForgetSet, at place {index}"
            raise invalid("pairs", item, why)
        data = matching_messages.match_item(index if item.id is None else item.id, item)
        return sent(data, item, *((item.query, item.train) if isinstance(item, Pair) else ()))

    name = ch.MATCHING + "MatchStream"
    read = functools.partial(matching_messages.parse_match_result, with_rays=_given(lenses))
    return stream_call(name, matching_pb2.MatchStreamRequest, options, pairs, send, read, window, timeout)


def stereo_stream(
    pairs: Items[Union["tuple[ImageLike, ImageLike]", ImageLike, StereoPair]],
    preset: Optional[Detector] = None,
    *,
    rig: Optional[StereoRig] = None,
    mask: Optional[ImageLike] = None,
    right_mask: Optional[ImageLike] = None,
    region: Optional[opt.Region] = None,
    window: int = WINDOW,
    policy: Optional[str] = None,
    max_age: Optional[float] = None,
    gray_range: Optional[opt.GrayRange] = None,
    timeout: Optional[float] = None,
    **fields: Any,
) -> StreamCall[StereoResult]:
    """Disparities of many pairs with the same options, one StereoResult for each pair, in their order.

    pairs    (left, right); one image with both side by side; or glint.StereoPair with what is its own
    rig      glint.StereoRig: the images are raw, the server rectifies them, and positions and depths (metres) are of
             the rectified camera in StereoMatches.rectified; None: they are rectified
    mask, right_mask
             of the left and the right image, for pairs that have none of their own: uint8 or bool array of their size,
             raw ones with a rig; keypoints are found where it is not 0
    region   (x, y, width, height), where keypoints are found in both images; with masks where both allow it
    fields   of StereoOptions: focal_length=700, baseline=0.12 (both for depths), max_distance=64, band=2,
             min_disparity=0, max_disparity=128, max_octave_difference=1, cross_check, refine, median_cut, check_pair,
             max_time_difference_ns; and of DetectorOptions. window, policy, max_age, gray_range and timeout as for
             stream()

    Errors are those of stream(). What makes a pair doubtful is in the warnings of its result.
    """
    stereo = matching_pb2.StereoOptions()
    detector = opt.split(preset, fields, stereo)
    kind = matching_pb2.StereoStreamOptions
    options = stream_options(kind, policy, window, max_age, gray_range, detector=detector, stereo=stereo)
    masks = {"mask": mask_message(mask), "right_mask": mask_message(right_mask, "right_mask")}
    set_parts(options, rig=None if rig is None else rig_message(rig), region=opt.region(region), **masks)

    def send(item: Any, index: int) -> Sent:
        if isinstance(item, tuple):
            if len(item) != 2:
                raise wrong_pair(item, "right", index)
            item = StereoPair(*item)
        pair = item if isinstance(item, StereoPair) else StereoPair(item)
        data = matching_messages.stereo_pair(index if pair.id is None else pair.id, pair)
        return sent(data, None, pair.left, pair.right, pair.mask, pair.right_mask)

    def read(data: bytes, _: Any) -> StereoResult:
        return matching_messages.parse_stereo_result(data, rig is not None or stereo.focal_length > 0)

    name = ch.MATCHING + "StereoStream"
    return stream_call(name, matching_pb2.StereoStreamRequest, options, pairs, send, read, window, timeout)
