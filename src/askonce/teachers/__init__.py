"""Teachers: sentence encoders that give the space, and the cache of what they have read."""

from askonce.teachers.teacher import MINILM, STARTER, CachedTeacher, Teacher, load_teacher

__all__ = ["MINILM", "STARTER", "CachedTeacher", "Teacher", "load_teacher"]
