"""Teachers: sentence encoders that give the space, and the cache of what they have read."""

from askonce.teachers.cache import VectorCache
from askonce.teachers.teacher import MINILM, CachedTeacher, Teacher, load_teacher

__all__ = ["MINILM", "CachedTeacher", "Teacher", "VectorCache", "load_teacher"]
