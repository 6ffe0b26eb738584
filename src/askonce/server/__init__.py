"""The HTTP API and the page of an engine."""

from askonce.server.app import create_app
from askonce.server.guard.keys import Keys
from askonce.server.guard.lanes import LaneSettings
from askonce.server.service import ServerSettings

__all__ = ["Keys", "LaneSettings", "ServerSettings", "create_app"]
