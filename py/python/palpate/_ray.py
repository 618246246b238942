"""Assemblies on Ray: who looks at which pair is Ray's to say, what is found is the same as here.

A task looks at a few pairs, builds one shape, or measures a few pairs whose shapes are there. Meshes and shapes are objects of Ray: put or
built once, in the memory that all processes of a node share. What a worker was given is kept in its process for the next task. A task
whose process dies is run again by Ray, which also builds lost shapes again; the journal has all that was settled.
"""

from __future__ import annotations

import os
import secrets
import socket
import time
from collections import deque
from collections.abc import Callable, Iterator
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
#: Share of the memory of Ray's objects that the shapes of a batch may take; there are two batches at once.
ROOM = 0.3
#: Meshes up to this go along with each task [bytes]. Larger: sent again and again. Smaller: each is an object that Ray must look after.
SMALL = 4096
#: How long to wait for an answer before Ctrl-C is asked for [s].
PATIENCE = 0.5
#: How long an address may take to answer [s]. Ray itself would try for many minutes.
ANSWER = 5.0
#: How often to ask how many processors there are [s].
FRESH = 5.0


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
    if not (there or isinstance(cluster, str) or cluster is True or (isinstance(cluster, int) and cluster > 0)):
        raise InputError(f"cluster is {cluster!r}; give an address, \"auto\", a number of processes, or True")
    if not there:
        _join(ray, cluster)
    try:
        yield
    finally:
        if not there:
            ray.shutdown()


def _join(ray: Any, cluster: Any) -> None:
    quiet = {"log_to_driver": False, "logging_level": "error"}
    try:
        if isinstance(cluster, str):
            _knock(cluster)
            ray.init(address=cluster, **(quiet if "://" not in cluster else {}))
        else:
            # A Ray of our own tells nobody that it runs. Without "local" it would be whatever runs here.
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
            ray.init(address="local", num_cpus=None if cluster is True else cluster, include_dashboard=False, **quiet)
    except (OSError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
        reason = f" ({str(error.__cause__).strip()})" if error.__cause__ is not None else ""
        raise InputError(f"cluster {cluster!r} cannot be joined: {error}{reason}") from error


def _knock(cluster: str) -> None:
    """Whether anybody is at the address."""
    if cluster == "auto":
        cluster = os.environ.get("RAY_ADDRESS") or _auto()
    host, colon, port = cluster.removeprefix("ray://").rpartition(":")
    # What is no host and port Ray refuses at once.
    if colon and host and "/" not in host and port.isdecimal() and int(port) < 1 << 16:
        socket.create_connection((host.strip("[]"), int(port)), ANSWER).close()


def _auto() -> str:
    """What "auto" means; it may be the address of a Ray that has ended."""
    try:
        from ray._private.services import canonicalize_bootstrap_address
    except ImportError:
        return ""
    return canonicalize_bootstrap_address("auto") or ""


# What workers do. The recipe is the run's name and that of AssemblySteps. Meshes and shapes come as arrays in shared memory, small meshes
# with the task. What the work raises is told in words: what Ray raises then is of processes that ended, or of a worker that cannot do the work.

_kept: dict[tuple, AssemblyWorker] = {}


def _worker(recipe: tuple) -> AssemblyWorker:
    """This process's worker for this run, with its share of the memory."""
    if recipe not in _kept:
        _kept.clear()
        _, clearance, tolerance, voxel, memory, version = recipe
        _kept[recipe] = AssemblyWorker(clearance, tolerance, voxel, memory // _beside(), version)
    return _kept[recipe]


def _beside() -> int:
    """How many processes work on this machine at once."""
    import ray

    here = ray.get_runtime_context().get_node_id()
    return max(1, sum(int(node["Resources"].get("CPU", 1)) for node in ray.nodes() if node["NodeID"] == here))


def _words(error: BaseException) -> str:
    return str(error) if isinstance(error, PalpateError) else f"{type(error).__name__}: {error}"


def _tried(work: Callable[[], list[bytes | None]]) -> tuple[str, list[bytes | None]]:
    """What is wrong, or nothing and the answers."""
    try:
        return "", work()
    except InputError:
        raise
    except Exception as error:
        return _words(error), []


def _merged(small: list[tuple | None], others: Iterator[Any]) -> list[tuple]:
    return [next(others) if mesh is None else mesh for mesh in small]


def _look(recipe: tuple, which: np.ndarray, poses: np.ndarray, small: list, *others: Any) -> tuple[str, list[bytes | None]]:
    worker = _worker(recipe)
    return _tried(lambda: worker.look(_merged(small, iter(others)), which, poses))


def _build(recipe: tuple, mesh: tuple) -> tuple[str, np.ndarray | None]:
    """What is wrong, or nothing and the shape."""
    worker = _worker(recipe)
    try:
        return "", worker.build(mesh)
    except Exception as error:
        return _words(error), None


def _measure(recipe: tuple, which: np.ndarray, poses: np.ndarray, small: list, *others: Any) -> tuple[str, list[bytes | None]]:
    """Meshes, then the shape of each."""
    worker = _worker(recipe)
    rest = iter(others)
    meshes = _merged(small, rest)
    return _tried(lambda: worker.measure(meshes, list(rest), which, poses))


class _Shape:
    """The shape of a part, to be built."""

    def __init__(self, part: int) -> None:
        self.part = part
        #: Ray's object.
        self.ref: Any = None
        #: None until it is known.
        self.there: bool | None = None
        self.waiting: list[_Piece] = []


class _Batch:
    """Shapes that are in memory together, for as long as a piece needs them."""

    def __init__(self, shapes: dict[int, _Shape], pieces: int) -> None:
        self.shapes, self.left = shapes, pieces


class _Piece:
    """Pairs of a task: to look at, or, of a batch, to measure."""

    def __init__(self, pairs: list[int], batch: _Batch | None = None) -> None:
        self.pairs, self.batch = pairs, batch
        #: Of how many shapes nothing is known yet.
        self.missing = 0


class _Run:
    """One run on the cluster that is joined."""

    def __init__(self, ray: Any, steps: AssemblySteps, told: Any) -> None:
        self.ray, self.steps, self.told = ray, steps, told
        self.recipe = (secrets.token_hex(8), *steps.recipe())
        self.look, self.measure = (ray.remote(max_retries=RETRIES)(f) for f in (_look, _measure))
        self.build = ray.remote(max_retries=RETRIES, num_returns=2)(_build)
        self.asked = -FRESH
        self.size = self._size()
        # By number of the part: its mesh, or Ray's object with it, and its triangles.
        self.meshes: dict[int, Any] = {}
        self.triangles: dict[int, int] = {}
        # Pairs of pieces that failed, one by one; shapes to build; pieces whose shapes are known; batches that are not begun, or not done.
        self.again: deque[_Piece] = deque()
        self.builds: deque[_Shape] = deque()
        self.ready: deque[_Piece] = deque()
        self.batches: deque[tuple[list[int], list[int]]] = deque()
        self.begun: list[_Batch] = []
        self.last = _Batch({}, 0)
        self.done = 0

    def all(self) -> None:
        steps = self.steps
        todo = steps.todo()
        deep: list[int] = []
        self._stage("look at pairs", len(todo))
        looks = self._looks(todo)
        for piece, answers in self._answers(lambda: next(looks, None)):
            for pair, answer in zip(piece.pairs, answers):
                if answer is None:
                    deep.append(pair)
                else:
                    steps.settle(pair, answer)
            self._settled(piece)
        store = self.ray.cluster_resources().get("object_store_memory", 0)
        batches = steps.batches(deep, max(int(ROOM * store), steps.recipe()[3]))
        # Shapes of the batch before are there already.
        parts = [set(parts) for _, parts in batches]
        builds = sum(len(own - before) for before, own in zip([set(), *parts], parts))
        self._stage("measure overlaps", len(deep) + builds)
        self.batches.extend(batches)
        self.most = min(max(len(deep) // (PIECES * self.size), 1), MOST_MEASURES)
        for piece, answers in self._answers(self._next):
            for pair, answer in zip(piece.pairs, answers):
                if answer is not None:
                    steps.settle(pair, answer)
            self._settled(piece)

    # Progress.

    def _stage(self, name: str, steps: int) -> None:
        self.stage, self.steps_of_stage, self.done = name, steps, 0
        self._advance(0)

    def _advance(self, steps: int) -> None:
        self.done += steps
        if self.told is not None:
            self.told(self.stage, self.done, self.steps_of_stage)

    def _settled(self, piece: _Piece) -> None:
        if piece.batch is not None:
            piece.batch.left -= 1
        self._advance(len(piece.pairs))

    # What there is to do, in pieces.

    def _size(self) -> int:
        """How many processors there are: machines come and go."""
        now = time.monotonic()
        if now - self.asked >= FRESH:
            self.asked = now
            self.size = max(1, int(self.ray.cluster_resources().get("CPU", 1)))
        return self.size

    def _looks(self, todo: list[int]) -> Iterator[_Piece]:
        weights = self.steps.weights(todo)
        most = sum(weights) / (PIECES * self.size)
        piece: list[int] = []
        weight = 0
        for pair, own in zip(todo, weights):
            piece.append(pair)
            weight += own
            if weight >= most or len(piece) == MOST_LOOKS:
                yield _Piece(piece)
                piece, weight = [], 0
        if piece:
            yield _Piece(piece)

    def _next(self) -> _Shape | _Piece | None:
        """A shape to build, else pairs whose shapes are there; none where all of it must be waited for."""
        while True:
            if self.builds:
                return self.builds.popleft()
            while self.ready:
                piece = self.ready.popleft()
                if self._can_be_measured(piece):
                    return piece
            if not self._begin():
                return None

    def _begin(self) -> bool:
        """Takes the next batch, if there is one and memory for it."""
        self.begun = [batch for batch in self.begun if batch.left > 0]
        if not self.batches or len(self.begun) == 2:
            return False
        pairs, parts = self.batches.popleft()
        known = self.last.shapes
        pieces = [pairs[i : i + self.most] for i in range(0, len(pairs), self.most)]
        batch = _Batch({part: known.get(part) or _Shape(part) for part in parts}, len(pieces))
        self.last = batch
        self.begun.append(batch)
        new = [shape for part, shape in batch.shapes.items() if part not in known]
        # What takes long comes first, so that nothing waits for it alone in the end.
        self.builds.extend(sorted(new, key=lambda shape: -self._triangles(shape.part)))
        for piece in (_Piece(own, batch) for own in pieces):
            shapes = (batch.shapes[part] for part in self.steps.task(piece.pairs)[0])
            for shape in shapes:
                if shape.there is None:
                    shape.waiting.append(piece)
                    piece.missing += 1
            if piece.missing == 0:
                self.ready.append(piece)
        return True

    def _can_be_measured(self, piece: _Piece) -> bool:
        """Leaves out pairs of parts without a shape, which were told of."""
        parts, which, _ = self.steps.task(piece.pairs)
        there = [piece.batch.shapes[part].there for part in parts]
        if not all(there):
            fine = [pair for pair, (a, b) in zip(piece.pairs, which) if there[a] and there[b]]
            self._advance(len(piece.pairs) - len(fine))
            piece.pairs = fine
            if not fine:
                self._settled(piece)
        return bool(piece.pairs)

    # Tasks.

    def _mesh(self, part: int) -> Any:
        if part not in self.meshes:
            mesh = self.steps.mesh(part)
            _, _, vertices, faces = mesh
            self.triangles[part] = len(faces)
            self.meshes[part] = mesh if vertices.nbytes + faces.nbytes <= SMALL else self.ray.put(mesh)
        return self.meshes[part]

    def _triangles(self, part: int) -> int:
        self._mesh(part)
        return self.triangles[part]

    def _submit(self, piece: _Shape | _Piece) -> Any:
        if isinstance(piece, _Shape):
            return self._submit_build(piece)
        parts, which, poses = self.steps.task(piece.pairs)
        meshes = [self._mesh(part) for part in parts]
        small = [mesh if isinstance(mesh, tuple) else None for mesh in meshes]
        others = [mesh for mesh in meshes if not isinstance(mesh, tuple)]
        if piece.batch is None:
            return self.look.remote(self.recipe, which, poses, small, *others)
        shapes = [piece.batch.shapes[part].ref for part in parts]
        return self.measure.remote(self.recipe, which, poses, small, *others, *shapes)

    def _submit_build(self, shape: _Shape) -> Any:
        held = self.steps.held(shape.part)
        if held is not None:
            try:
                shape.ref = self.ray.put(np.fromfile(held, dtype=np.uint8))
                return self.ray.put("held")
            except OSError:
                # Gone since.
                pass
        words, shape.ref = self.build.remote(self.recipe, self._mesh(shape.part))
        return words

    # Answers.

    def _answers(self, take: Callable[[], _Shape | _Piece | None]) -> Iterator[tuple[_Piece, list[bytes | None]]]:
        """Gives pieces to Ray, as many at once as it has use for; the answers as they come, in any order."""
        ray = self.ray
        pending: dict[Any, _Shape | _Piece] = {}
        try:
            while True:
                while len(pending) < IN_FLIGHT * self._size():
                    piece = self.again.popleft() if self.again else take()
                    if piece is None:
                        break
                    pending[self._submit(piece)] = piece
                if not pending:
                    return
                ready, _ = ray.wait(list(pending), num_returns=1, timeout=PATIENCE)
                for ref in ready:
                    piece = pending.pop(ref)
                    try:
                        answer = ray.get(ref)
                    except ray.exceptions.RayError as error:
                        self._failed(piece, self._end(piece, error))
                        continue
                    if isinstance(piece, _Shape):
                        self._built(piece, answer)
                    elif answer[0]:
                        self._failed(piece, answer[0])
                    else:
                        yield piece, answer[1]
        finally:
            for ref in pending:
                ray.cancel(ref)

    def _built(self, shape: _Shape, words: str) -> None:
        if words in ("", "held"):
            if words == "":
                self.steps.keep(shape.part, self._bytes(shape))
            self._known(shape, True)
        else:
            self._failed(shape, words)

    def _known(self, shape: _Shape, there: bool) -> None:
        """Lets go what waited for it."""
        shape.there = there
        for piece in shape.waiting:
            piece.missing -= 1
            if piece.missing == 0:
                self.ready.append(piece)
        shape.waiting = []
        self._advance(1)

    def _bytes(self, shape: _Shape) -> np.ndarray | None:
        """The shape, if it is to be kept in a cache and can still be had."""
        if not self.steps.keeps:
            return None
        try:
            return self.ray.get(shape.ref)
        except self.ray.exceptions.RayError:
            return None

    def _failed(self, piece: _Shape | _Piece, words: str) -> None:
        """Pairs are tried one by one, then told of."""
        if isinstance(piece, _Shape):
            piece.ref = None
            self.steps.fail(piece.part, words)
            self._known(piece, False)
        elif len(piece.pairs) > 1:
            if piece.batch is not None:
                piece.batch.left += len(piece.pairs) - 1
            self.again.extend(_Piece([pair], piece.batch) for pair in piece.pairs)
        else:
            self.steps.fail_pair(piece.pairs[0], words)
            self._settled(piece)

    def _end(self, piece: _Shape | _Piece, error: Exception) -> str:
        """Words for a task that Ray gave up. Where its worker cannot do the work at all, no other pair can be trusted to it."""
        kinds = self.ray.exceptions
        while isinstance(error, kinds.RayTaskError):
            error = error.cause
        if isinstance(error, InputError):
            raise error
        broken = isinstance(error, (kinds.RaySystemError, kinds.RuntimeEnvSetupError)) or not isinstance(error, (kinds.RayError, MemoryError))
        if broken:
            # Of a traceback the last line says it.
            lines = str(error).strip().splitlines()
            words = lines[-1] if len(lines) > 1 else _words(error)
            raise InputError(f"a machine of the cluster cannot do the work: {words}; every one needs palpate {self.recipe[-1]}") from error
        if isinstance(error, (kinds.OutOfMemoryError, kinds.ObjectStoreFullError, MemoryError)):
            return "there was not enough memory for it"
        if isinstance(error, kinds.ObjectLostError):
            return "what it needs was lost with a machine, and could not be made again"
        what = "built its shape" if isinstance(piece, _Shape) else "looked at it"
        return f"the process that {what} ended, {RETRIES + 1} times"
