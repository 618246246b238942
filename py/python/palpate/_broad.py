"""Which boxes are near: the broad phase of :mod:`palpate.collision_manager`."""

import numpy as np


def placed(box, transform):
    """The box along the axes that holds a moved box: (2, 3) in, (2, 3) out [m]."""
    middle, half = (box[0] + box[1]) / 2, (box[1] - box[0]) / 2
    turn = transform[:3, :3]
    middle, half = turn @ middle + transform[:3, 3], np.abs(turn) @ half
    # Rounding must not part boxes that touch.
    half = half * (1 + 1e-9) + 1e-12 * np.abs(middle)
    return np.array([middle - half, middle + half])


def overlapping(boxes):
    """Pairs (i, j), i < j, of (n, 2, 3) boxes that share a point, by sorting along the longest axis."""
    n = len(boxes)
    if n < 2:
        return []
    axis = np.argmax(boxes[:, :, :].max(axis=(0, 1)) - boxes.min(axis=(0, 1)))
    order = np.argsort(boxes[:, 0, axis], kind="stable")
    low, high = boxes[order, 0], boxes[order, 1]
    ends = np.searchsorted(low[:, axis], high[:, axis], side="right")
    pairs = []
    for i in range(n):
        rest = slice(i + 1, ends[i])
        meets = ((low[rest] <= high[i]) & (low[i] <= high[rest])).all(axis=1)
        pairs += [tuple(sorted((int(order[i]), int(order[i + 1 + k])))) for k in np.flatnonzero(meets)]
    return sorted(pairs)


def gaps(box, boxes):
    """Distances of a (2, 3) box to (n, 2, 3) boxes, 0 where they overlap [m]."""
    apart = np.maximum(np.maximum(boxes[:, 0] - box[1], box[0] - boxes[:, 1]), 0)
    return np.linalg.norm(apart, axis=1)
