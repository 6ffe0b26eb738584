"""What serves where an archive has too few labels to fit it: fitted once, on the built-in archive.

``python -m askonce.training.archive.fit_priors`` prints these constants again.
"""

from askonce.ranking.calibration import SHARED, Calibration
from askonce.ranking.stages import VECTORS
from askonce.teachers import MINILM

TEACHER_WEIGHT = 3.0  # of a teacher's vectors beside BM25
STARTER_WEIGHT = 2.0  # of the starter's
# BM25's scores depend on the archive, and those of other encoders on their training: not used
BY_WORDS = Calibration(-5.43, {SHARED: 13.62})
BY_MINILM = Calibration(-10.87, {VECTORS: 17.06, SHARED: 0.0})


def prior(teacher: str | None) -> Calibration:
    """The probability of a duplicate, by the teacher whose space the encoder in service is in."""
    return BY_MINILM if teacher == MINILM else BY_WORDS
