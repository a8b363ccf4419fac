"""The application, for gunicorn (`wsgi:app`) and the flask command."""

import config
from directory import create_app

app = create_app(config.load())
