"""InsuranceQA from its package: a real archive to try things on."""

from collections.abc import Iterator
from pathlib import Path

from askonce.data.benchmarks.insuranceqa_package import named_records, one_line, package_folder
from askonce.data.forums import IMPORTERS, Damaged, Imported, Source
from askonce.files import need
from askonce.types import Link, Post

_SPLITS = ("train", "valid", "test")


@IMPORTERS.add("insuranceqa")
def read(source: Source) -> Iterator[Imported]:
    """InsuranceQA V2 from the installed package: 16,889 questions and 27,413 answers.

    All answers are correct, so all are marked accepted. Questions that share an answer ask the same
    in other words: the answer belongs to the first, and the others are linked to it as duplicates.
    """
    home = source.path or package_folder()
    owners: dict[str, str] = {}  # answer -> its question
    links: dict[tuple[str, str], None] = {}
    for split in _SPLITS:
        path = need(home, f"{split}.json")
        for name, record in named_records(path):
            match record:
                case {"en": str(text), "domain": str(domain), "answers": list(answers)}:
                    question = Post(f"q-{split}-{name}", title=one_line(text), tags=(domain,))
                    yield question
                    for answer in answers:
                        owner = owners.setdefault(str(answer), question.id)
                        links |= {(question.id, owner): None} if owner != question.id else {}
                case _:
                    what = "expected 'en', 'domain' and 'answers'"
                    yield Damaged(f"{path.name}, question {name!r}", what)
    yield from _answers(home, owners)
    yield from (Link(later, first) for later, first in links)


def _answers(home: Path, owners: dict[str, str]) -> Iterator[Imported]:
    path = need(home, "answers.json")
    for name, record in named_records(path):
        match record:
            case {"en": str(text)} if name in owners:
                body, parent = one_line(text), owners[name]
                yield Post(f"a-{name}", body=body, kind="answer", parent=parent, accepted=True)
            case _:
                what = "expected 'en' and a question that it answers"
                yield Damaged(f"{path.name}, answer {name!r}", what)
