"""Which of the candidates serve: measured on dev, then calibrated."""
