"""The archive over HTTP: a server is a function of an engine."""

from askonce.server.app import create_app
from askonce.server.guard.keys import Keys
from askonce.server.settings import LaneSettings, ServerSettings

__all__ = ["Keys", "LaneSettings", "ServerSettings", "create_app"]
