"""Distillation: fast encoders learn the space of a teacher."""
