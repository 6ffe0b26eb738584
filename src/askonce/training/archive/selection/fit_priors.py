"""Fit the priors of archives with few labels on the built-in archive: ``python -m`` this file."""

import sys
from dataclasses import replace
from itertools import chain

from askonce.archive.open import open_archive
from askonce.key_encoders import SentenceKeys
from askonce.ranking.calibration import Evidence, ShownList, fit_calibration, gather_evidence
from askonce.ranking.fusion import Fusion
from askonce.ranking.manifest import Serving
from askonce.ranking.stages import BM25, VECTORS
from askonce.teachers import MINILM, STARTER
from askonce.training.archive.selection.compare import WEIGHTS, precisions
from askonce.training.archive.selection.held_out import EncodedPosts, HeldOut
from askonce.training.archive.tasks.labels import ArchiveLabels
from askonce.training.archive.tasks.pools import LabelledTask, question_task


def main() -> None:
    """Print the weights beside BM25 and both calibrations."""
    task = question_task(ArchiveLabels.of(open_archive("bicycles").snapshot()))
    everything = replace(task, seen={"test": len(task.posts)})
    held_out = HeldOut.of(everything, "test")
    encoded, starter = (_encoded(task, name) for name in (MINILM, STARTER))
    lines = [
        f"TEACHER_WEIGHTS: vectors {_best_weight(task, held_out, encoded)}",
        f"STARTER_WEIGHTS: vectors {_best_weight(task, held_out, starter)}",
    ]
    for name, encoder in (("BY_WORDS", None), ("BY_MINILM", encoded)):
        fitted = fit_calibration(_evidence(task, held_out, encoder))
        slopes = {key: round(value, 2) for key, value in fitted.slopes.items()}
        lines.append(f"{name} = Calibration({fitted.intercept:.2f}, {slopes})")
    sys.stdout.write("\n".join(lines) + "\n")


def _encoded(task: LabelledTask, name: str) -> EncodedPosts:
    coder = SentenceKeys(name)
    return EncodedPosts(name, "", coder, coder.candidate_keys(task.posts))


def _best_weight(task: LabelledTask, held_out: HeldOut, encoder: EncodedPosts) -> float:
    queries = list(chain.from_iterable(task.queries.values()))
    serving = Serving(weights={BM25: 1.0, VECTORS: 1.0})
    candidates = held_out.find(held_out.pipeline(serving, encoder), queries)

    def precision(weight: float) -> float:
        fusion = Fusion(weights={BM25: 1.0, VECTORS: weight})
        return float(precisions(queries, map(fusion.join, candidates)).mean())

    return max(WEIGHTS, key=precision)


def _evidence(task: LabelledTask, held_out: HeldOut, encoder: EncodedPosts | None) -> Evidence:
    queries = list(chain.from_iterable(task.asked.values()))
    weights = {BM25: 1.0, VECTORS: 1.0} if encoder else {BM25: 1.0}
    ranked = held_out.rank(held_out.pipeline(Serving(weights=weights), encoder), queries)
    pairs = zip(queries, ranked, strict=True)
    lists = [ShownList(query.query.text, one, query.right_ids) for query, one in pairs]
    evidence = gather_evidence(lists, held_out.by_id, held_out.lexical.terms)
    if evidence is None:
        raise ValueError("the built-in archive has no marks")
    # without BM25, whose scores depend on the archive
    columns = [n for n, name in enumerate(evidence.names) if name != BM25]
    names = tuple(evidence.names[n] for n in columns)
    return Evidence(names, evidence.scores[:, columns], evidence.same, evidence.weight)


if __name__ == "__main__":
    main()
