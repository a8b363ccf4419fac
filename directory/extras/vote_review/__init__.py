"""Review of votes: who voted for a project, the signs of doubtful votes, and decisions which votes count."""

from directory.extras import Extra
from directory.extras.vote_review import routes

extra = Extra(blueprints=(routes.bp,), pages=(routes.pages,))
