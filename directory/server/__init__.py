"""gunicorn's threaded worker, with simple requests read and answered in its event loop."""
