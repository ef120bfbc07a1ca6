"""Samples of the operators over signals, images and volumes, in the table of ``operator_samples``."""

from __future__ import annotations

import numpy as np
from sample import Sample

import tocha
import tocha.nn.functional as F

# positions that no rounding moves to another pixel, inside the image and outside
GRID = np.array([[[[-0.9, 0.3], [0.25, -0.45], [1.3, 0.1]], [[0.05, 0.9], [-1.35, -0.7], [0.62, 0.55]]]])
POINTS = np.concatenate([GRID.reshape(1, 1, 2, 3, 2), np.full((1, 1, 2, 3, 1), 0.15)], -1)
BYTES = np.arange(2 * 3 * 6 * 5, dtype=np.uint8).reshape(2, 3, 6, 5) * 37
DRAWN = np.array([[[0.2, 0.7], [0.6, 0.1]]])


def pair(f, x):
    """Maxima together with what they are multiplied with by their positions, so that one result stands for both."""
    values, indices = f(x)
    return values * (indices + 1)


IMAGES = [
    Sample("conv1d dilated", lambda x, w: F.conv1d(x, w, None, 1, 2, 2), ((2, 3, 9), (4, 3, 3))),
    Sample("conv1d same", lambda x, w, b: F.conv1d(x, w, b, padding="same"), ((2, 3, 6), (2, 3, 4), (2,))),
    Sample("conv2d unbatched", lambda x, w: F.conv2d(x, w), ((2, 4, 5), (3, 2, 3, 2))),
    Sample("conv2d strided", lambda x, w, b: F.conv2d(x, w, b, (2, 3), (1, 2)), ((2, 3, 7, 8), (4, 3, 3, 3), (4,))),
    Sample("conv2d wide stride", lambda x, w: F.conv2d(x, w, stride=3), ((1, 2, 7, 8), (3, 2, 2, 2))),
    Sample("conv2d 1x1", lambda x, w: F.conv2d(x, w), ((2, 3, 3, 2), (4, 3, 1, 1))),
    Sample("conv2d many channels", lambda x, w: F.conv2d(x, w, padding=1), ((1, 18, 3, 3), (2, 18, 3, 3))),
    Sample("conv2d depthwise", lambda x, w, b: F.conv2d(x, w, b, 1, 1, 1, 3), ((2, 3, 4, 5), (3, 1, 3, 3), (3,))),
    Sample("conv2d depthwise strided", lambda x, w: F.conv2d(x, w, None, 2, 1, 2, 2), ((2, 2, 7, 6), (4, 1, 3, 2))),
    Sample("conv3d", lambda x, w, b: F.conv3d(x, w, b, 1, 1), ((1, 2, 3, 4, 3), (2, 2, 2, 3, 2), (2,))),
    Sample("conv_transpose1d", lambda x, w, b: F.conv_transpose1d(x, w, b, 2, 1, 1), ((2, 3, 4), (3, 2, 3), (2,))),
    Sample("conv_transpose2d", lambda x, w, b: F.conv_transpose2d(x, w, b, 2), ((1, 3, 3, 2), (3, 2, 2, 2), (2,))),
    Sample(
        "conv_transpose2d groups",
        lambda x, w: F.conv_transpose2d(x, w, None, (1, 2), 1, (0, 1), 2, (2, 1)),
        ((1, 4, 4, 3), (4, 2, 3, 3)),
    ),
    Sample(
        "conv_transpose2d far", lambda x, w: F.conv_transpose2d(x, w, None, 1, 0, 1, 1, 2), ((1, 2, 3, 3), (2, 2, 2, 2))
    ),
    Sample("conv_transpose3d", lambda x, w: F.conv_transpose3d(x, w, None, 2, 1), ((1, 2, 2, 2, 3), (2, 2, 3, 2, 2))),
    Sample("max_pool1d", lambda x: F.max_pool1d(x, 3, 2, 1), ((2, 2, 7),)),
    Sample("max_pool2d overlapping", lambda x: F.max_pool2d(x, 3, 2, 1, 1, True), ((1, 2, 6, 7),)),
    Sample("max_pool2d dilated", lambda x: F.max_pool2d(x, (2, 3), 1, (1, 0), (2, 1)), ((2, 1, 6, 5),)),
    Sample(
        "max_pool2d indices",
        lambda x: pair(lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True), x),
        ((1, 2, 5, 6),),
    ),
    Sample("max_pool3d", lambda x: F.max_pool3d(x, 2), ((1, 1, 4, 4, 2),)),
    Sample(
        "max_unpool2d",
        lambda x: F.max_unpool2d(
            x, tocha.zeros_like(x, dtype=tocha.int64) + tocha.arange(4, device=x.device).view(2, 2) * 5, 2
        ),
        ((1, 2, 2, 2),),
        meta=False,
    ),
    Sample("avg_pool1d", lambda x: F.avg_pool1d(x, 3, 2, 1, True, False), ((2, 2, 8),)),
    Sample("avg_pool2d overlapping", lambda x: F.avg_pool2d(x, 3, 2, 1, True), ((1, 2, 6, 7),)),
    Sample("avg_pool2d divisor", lambda x: F.avg_pool2d(x, (2, 3), 2, divisor_override=5), ((2, 5, 6),)),
    Sample("avg_pool3d", lambda x: F.avg_pool3d(x, 2, 1), ((1, 2, 3, 3, 2),)),
    Sample("lp_pool2d", lambda x: F.lp_pool2d(x, 3, 2), ((1, 2, 4, 4),), positive=True),
    Sample("adaptive_avg_pool2d", lambda x: F.adaptive_avg_pool2d(x, (3, None)), ((2, 2, 5, 4),)),
    Sample("adaptive_avg_pool2d one", lambda x: F.adaptive_avg_pool2d(x, 1), ((2, 3, 4, 5),)),
    Sample("adaptive_avg_pool3d larger", lambda x: F.adaptive_avg_pool3d(x, (3, 2, 2)), ((1, 2, 2, 3, 4),)),
    Sample("adaptive_max_pool1d", lambda x: F.adaptive_max_pool1d(x, 4), ((2, 2, 7),)),
    Sample("adaptive_max_pool2d", lambda x: pair(lambda x: F.adaptive_max_pool2d(x, (2, 3), True), x), ((1, 2, 4, 6),)),
    Sample(
        "fractional_max_pool2d",
        lambda x, s: F.fractional_max_pool2d(x, 2, 3, _random_samples=s.detach()),
        ((1, 2, 6, 6), DRAWN),
        differentiable=False,
    ),
    Sample("batch_norm affine", lambda x, w, b: F.batch_norm(x, None, None, w, b, True), ((3, 2, 2, 3), (2,), (2,))),
    Sample(
        "batch_norm inference",
        lambda x, w, b: F.batch_norm(x, tocha.full_like(w, 0.3).detach(), tocha.full_like(w, 1.5).detach(), w, b),
        ((3, 2, 4), (2,), (2,)),
    ),
    Sample("instance_norm", lambda x, w, b: F.instance_norm(x, None, None, w, b), ((2, 3, 4, 2), (3,), (3,))),
    Sample("group_norm", lambda x, w, b: F.group_norm(x, 2, w, b), ((2, 4, 3), (4,), (4,))),
    Sample("layer_norm two", lambda x, w: F.layer_norm(x, (2, 3), w), ((4, 2, 3), (2, 3))),
    Sample("rms_norm", lambda x, w: F.rms_norm(x, (4,), w), ((2, 3, 4), (4,))),
    Sample("local_response_norm", lambda x: F.local_response_norm(x, 3), ((2, 5, 3),)),
    Sample("normalize", lambda x: F.normalize(x, dim=-1), ((2, 3),)),
    Sample("pad", lambda x: F.pad(x, (1, 2, -1, 0), value=1.5), ((2, 3, 4),)),
    *[
        Sample(f"pad {mode}", lambda x, mode=mode: F.pad(x, (2, 1, -1, 2), mode), ((1, 2, 4, 5),))
        for mode in ("reflect", "replicate", "circular")
    ],
    *[
        Sample(f"interpolate {mode}", lambda x, mode=mode: F.interpolate(x, (7, 3), mode=mode), ((1, 2, 4, 5),))
        for mode in ("nearest", "nearest-exact", "area", "bilinear", "bicubic")
    ],
    *[
        Sample(
            f"interpolate {mode} antialiased",
            lambda x, mode=mode: F.interpolate(x, (3, 7), mode=mode, antialias=True),
            ((1, 2, 8, 5),),
        )
        for mode in ("bilinear", "bicubic", "lanczos")
    ],
    *[
        Sample(
            f"interpolate bytes {mode} {antialias}",
            lambda x, m=mode, a=antialias: F.interpolate(x, (9, 4), mode=m, antialias=a),
            (BYTES,),
            differentiable=False,
        )
        for mode in ("bilinear", "bicubic")
        for antialias in (False, True)
    ],
    Sample(
        "interpolate linear corners", lambda x: F.interpolate(x, 7, mode="linear", align_corners=True), ((2, 2, 4),)
    ),
    Sample("interpolate trilinear", lambda x: F.interpolate(x, scale_factor=2.0, mode="trilinear"), ((1, 1, 2, 3, 2),)),
    *[
        Sample(
            f"grid_sample {mode} {padding}",
            lambda x, g, m=mode, p=padding: F.grid_sample(x, g, m, p),
            ((1, 2, 4, 5), GRID),
        )
        for mode in ("bilinear", "nearest", "bicubic")
        for padding in ("zeros", "border", "reflection")
    ],
    Sample("grid_sample volumes", lambda x, g: F.grid_sample(x, g, align_corners=True), ((1, 2, 3, 4, 5), POINTS)),
    Sample("affine_grid", lambda t: F.affine_grid(t, (2, 1, 3, 4), align_corners=False), ((2, 2, 3),)),
    Sample("unfold blocks", lambda x: F.unfold(x, (2, 3), (2, 1), 1, 2), ((2, 2, 5, 6),)),
    Sample("fold blocks", lambda x: F.fold(x, (4, 5), 2, stride=(1, 2)), ((2, 8, 6),)),
    Sample("pixel_shuffle", lambda x: F.pixel_shuffle(x, 2), ((1, 8, 2, 3),)),
    Sample("pixel_unshuffle", lambda x: F.pixel_unshuffle(x, 2), ((2, 4, 6),)),
    Sample("channel_shuffle", lambda x: F.channel_shuffle(x, 2), ((2, 6, 2),)),
]
