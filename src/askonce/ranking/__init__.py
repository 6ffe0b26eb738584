"""What training leaves for the engine: which models serve, how their scores are joined."""
