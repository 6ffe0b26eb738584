"""The models that may serve an archive, and how they are trained."""
