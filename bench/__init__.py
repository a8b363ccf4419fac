"""The measuring code. Nothing here is part of the service."""
