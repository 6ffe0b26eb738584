"""From stage scores to an order: stages, fusion, pipeline, calibration, votes, manifest."""
