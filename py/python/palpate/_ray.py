"""Assemblies on Ray: who looks at which pair is Ray's to say, what is found is the same as here.

A task looks at a few pairs, builds one shape, or measures a few pairs with their shapes. Meshes and shapes are objects of Ray: put or built
once, in the memory that all processes of a node share. What a worker was given is kept in its process for the next task. A task whose
process dies is run again by Ray, which also builds lost shapes again; the journal has all that was settled.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ._errors import InputError, PalpateError
from ._palpate import Assembly, AssemblyReport, AssemblySteps, AssemblyWorker

#: How often Ray runs a task again whose process died.
RETRIES = 5
#: Tasks that are given to Ray at once, for each processor. More: lost work when Ctrl-C is pressed. Fewer: processors wait.
IN_FLIGHT = 4
#: Tasks that the work is cut into, for each processor. More: all end at the same time. Fewer: less to send.
PIECES = 24
#: Most pairs of a task that looks, and of one that measures.
MOST_LOOKS, MOST_MEASURES = 256, 8
#: Share of the memory of Ray's objects that shapes may take.
ROOM = 0.3
#: How long to wait for an answer before Ctrl-C is asked for [s].
PATIENCE = 0.5


def look(whole: Assembly, clearance: float, cluster: Any, told: Any, **how: Any) -> AssemblyReport:
    """As ``palpate.assembly`` without files; ``how`` is for :class:`AssemblySteps`."""
    ray = _import()
    steps = AssemblySteps(whole, clearance, **how)
    if steps.todo():
        with _joined(ray, cluster):
            _Run(ray, steps, told).all()
    return steps.finish()


def _import() -> Any:
    try:
        import ray
    except ImportError as error:
        raise InputError("cluster needs Ray, which is not installed: pip install palpate[ray]") from error
    return ray


@contextmanager
def _joined(ray: Any, cluster: Any) -> Iterator[None]:
    """A connection to a cluster for as long as it is needed; one that is there is left there."""
    there = ray.is_initialized()
    if there and not (cluster is True or cluster == "auto"):
        raise InputError("this process has joined a Ray already: give cluster=\"auto\" to use that, or ray.shutdown() first")
    quiet = {"log_to_driver": False, "logging_level": "error"}
    if not there and isinstance(cluster, str):
        try:
            ray.init(address=cluster, **(quiet if "://" not in cluster else {}))
        except (ConnectionError, TimeoutError, ValueError, RuntimeError) as error:
            raise InputError(f"cluster {cluster!r} cannot be joined: {error}") from error
    elif not there:
        if not (cluster is True or (isinstance(cluster, int) and cluster > 0)):
            raise InputError(f"cluster is {cluster!r}; give an address, \"auto\", a number of processes, or True")
        # A Ray of our own tells nobody that it runs.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        ray.init(num_cpus=None if cluster is True else cluster, include_dashboard=False, **quiet)
    try:
        yield
    finally:
        if not there:
            ray.shutdown()


# What workers do. The recipe is that of AssemblySteps; meshes and shapes come as arrays in shared memory.

_kept: dict[tuple, AssemblyWorker] = {}


def _worker(recipe: tuple) -> AssemblyWorker:
    """This process's worker for these parameters."""
    if recipe not in _kept:
        _kept.clear()
        _kept[recipe] = AssemblyWorker(*recipe)
    return _kept[recipe]


def _look(recipe: tuple, which: np.ndarray, poses: np.ndarray, *meshes: tuple) -> list[bytes | None]:
    return _worker(recipe).look(list(meshes), which, poses)


def _build(recipe: tuple, mesh: tuple) -> tuple[str, np.ndarray | None]:
    """What is wrong, or nothing and the shape."""
    worker = _worker(recipe)
    try:
        return "", worker.build(mesh)
    except PalpateError as error:
        return str(error), None


def _measure(recipe: tuple, which: np.ndarray, poses: np.ndarray, *both: Any) -> list[bytes | None]:
    """Meshes, then the shape of each."""
    n = len(both) // 2
    return _worker(recipe).measure(list(both[:n]), list(both[n:]), which, poses)


class _Run:
    """One run on the cluster that is joined."""

    def __init__(self, ray: Any, steps: AssemblySteps, told: Any) -> None:
        self.ray, self.steps, self.told = ray, steps, told
        self.recipe = steps.recipe()
        self.size = max(1, int(ray.cluster_resources().get("CPU", 1)))
        self.look, self.measure = (ray.remote(max_retries=RETRIES)(f) for f in (_look, _measure))
        self.build = ray.remote(max_retries=RETRIES, num_returns=2)(_build)
        # By number of the part: its mesh, what went wrong with its shape, and the shape.
        self.meshes: dict[int, Any] = {}
        self.words: dict[int, Any] = {}
        self.shapes: dict[int, Any] = {}
        self.done = 0

    def all(self) -> None:
        steps = self.steps
        todo = steps.todo()
        deep: list[int] = []
        self._stage("look at pairs", len(todo))
        for pairs, answers in self._answers(self._looks(todo), self._submit_look):
            for pair, answer in zip(pairs, answers):
                if answer is None:
                    deep.append(pair)
                else:
                    steps.settle(pair, answer)
            self._advance(len(pairs))
        store = self.ray.cluster_resources().get("object_store_memory", 0)
        batches = steps.batches(deep, max(int(ROOM * store), self.recipe[3]))
        self._stage("measure overlaps", len(deep) + sum(len(parts) for _, parts in batches))
        for pairs, answers in self._answers(self._measures(batches, len(deep)), self._submit_measure):
            for pair, answer in zip(pairs, answers):
                # None: one of its parts has no shape, which was told.
                if answer is not None:
                    steps.settle(pair, answer)
            self._advance(len(pairs))

    # Progress.

    def _stage(self, name: str, steps: int) -> None:
        self.stage, self.steps_of_stage, self.done = name, steps, 0
        self._advance(0)

    def _advance(self, steps: int) -> None:
        self.done += steps
        if self.told is not None:
            self.told(self.stage, self.done, self.steps_of_stage)

    # What there is to do, in pieces.

    def _looks(self, todo: list[int]) -> Iterator[list[int]]:
        weights = self.steps.weights(todo)
        most = sum(weights) / (PIECES * self.size)
        piece: list[int] = []
        weight = 0
        for pair, own in zip(todo, weights):
            piece.append(pair)
            weight += own
            if weight >= most or len(piece) == MOST_LOOKS:
                yield piece
                piece, weight = [], 0
        if piece:
            yield piece

    def _measures(self, batches: list[tuple[list[int], list[int]]], count: int) -> Iterator[Any]:
        """Parts to build, by number, and pairs to measure, as lists; a part before its pairs."""
        most = min(max(count // (PIECES * self.size), 1), MOST_MEASURES)
        for pairs, parts in batches:
            for gone in set(self.shapes).difference(parts):
                # Tasks that still need it hold it.
                del self.shapes[gone], self.words[gone]
            yield from (part for part in parts if part not in self.shapes)
            for i in range(0, len(pairs), most):
                yield pairs[i : i + most]

    # Tasks.

    def _mesh(self, part: int) -> Any:
        if part not in self.meshes:
            self.meshes[part] = self.ray.put(self.steps.mesh(part))
        return self.meshes[part]

    def _submit_look(self, pairs: list[int]) -> Any:
        parts, which, poses = self.steps.task(pairs)
        return self.look.remote(self.recipe, which, poses, *map(self._mesh, parts))

    def _submit_measure(self, what: list[int] | int) -> Any:
        if isinstance(what, int):
            return self._submit_build(what)
        parts, which, poses = self.steps.task(what)
        shapes = [self.shapes[part] for part in parts]
        return self.measure.remote(self.recipe, which, poses, *map(self._mesh, parts), *shapes)

    def _submit_build(self, part: int) -> Any:
        held = self.steps.held(part)
        if held is not None:
            self.words[part], self.shapes[part] = self.ray.put("held"), self.ray.put(np.fromfile(held, dtype=np.uint8))
        else:
            self.words[part], self.shapes[part] = self.build.remote(self.recipe, self._mesh(part))
        return self.words[part]

    # Answers.

    def _answers(self, pieces: Iterator[Any], submit: Any) -> Iterator[tuple[list[int], list[bytes | None]]]:
        """Gives pieces to Ray, as many at once as it has use for; the answers as they come, in any order."""
        ray = self.ray
        again: deque[list[int]] = deque()
        pending: dict[Any, Any] = {}
        try:
            while True:
                while len(pending) < IN_FLIGHT * self.size:
                    piece = again.popleft() if again else next(pieces, None)
                    if piece is None:
                        break
                    pending[submit(piece)] = piece
                if not pending:
                    return
                ready, _ = ray.wait(list(pending), num_returns=1, timeout=PATIENCE)
                for ref in ready:
                    piece = pending.pop(ref)
                    try:
                        answer = ray.get(ref)
                    except ray.exceptions.RayError as error:
                        self._failed(piece, error, again)
                        continue
                    if isinstance(piece, int):
                        self._built(piece, answer)
                    else:
                        yield piece, answer
        finally:
            for ref in pending:
                ray.cancel(ref)

    def _built(self, part: int, words: str) -> None:
        if words == "":
            self.steps.keep(part, self._shape(part))
        elif words != "held":
            self.steps.fail(part, words)
        self._advance(1)

    def _shape(self, part: int) -> np.ndarray | None:
        """The shape, if it is to be kept in a cache and can still be had."""
        if not self.steps.keeps or part not in self.shapes:
            return None
        try:
            return self.ray.get(self.shapes[part])
        except self.ray.exceptions.RayError:
            return None

    def _failed(self, piece: Any, error: Exception, again: deque[list[int]]) -> None:
        """A task that Ray gave up: pairs are tried one by one, then told of."""
        cause = getattr(error, "cause", None)
        if isinstance(cause, InputError):
            raise cause
        words = f"the work on it failed again and again: {str(error).splitlines()[0] if str(error) else type(error).__name__}"
        if isinstance(piece, int):
            self.steps.fail(piece, words)
            self._advance(1)
        elif len(piece) > 1:
            again.extend([pair] for pair in piece)
        else:
            # One without a shape was told of.
            if not any(part in self.words and self._broken(part) for part in self.steps.task(piece)[0]):
                self.steps.fail_pair(piece[0], words)
            self._advance(1)

    def _broken(self, part: int) -> bool:
        try:
            return self.ray.get(self.words[part]) not in ("", "held")
        except self.ray.exceptions.RayError:
            return True
