"""The extensions, unbound: `create_app` binds each with `init_app`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flask import Flask, current_app, request
from flask_limiter import Limiter
from flask_limiter.util import get_remote_address
from flask_login import LoginManager
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import CursorResult, Engine, MetaData
from sqlalchemy.orm import DeclarativeBase

ENGINE = "directory.engine"
Condition = Callable[[Any], Any]  # of a list, by the column of the ids of its projects
Listener = Callable[[Sequence[int], Any], None]  # to an event, by the ids of its projects and who caused it
PASSWORDS = ("password", "sslpassword")  # options of a URL that PostgreSQL reads as such


class Base(DeclarativeBase):
    """The base of every model. The naming convention gives each constraint a name that a migration can use."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )


class Database(SQLAlchemy):
    """Flask-SQLAlchemy, whose engine is asked for several times a request."""

    @property
    def engine(self) -> Engine:
        """The current application's engine, of which there is one."""
        known: dict[str, Any] = current_app.extensions
        engine: Engine = known.get(ENGINE) or known.setdefault(ENGINE, super().engine)
        return engine

    @property
    def on_event(self) -> Mapping[Any, Sequence[Listener]]:
        """What the current application's extras do in the transaction of each event (`directory.extras.Extra`)."""
        listeners: Mapping[Any, Sequence[Listener]] = current_app.extensions["on_event"]
        return listeners

    @property
    def conditions(self) -> Mapping[str, Condition]:
        """The conditions of lists that the current application's extras add, by their names."""
        conditions: Mapping[str, Condition] = current_app.extensions["conditions"]
        return conditions

    @property
    def synonyms(self) -> Mapping[str, Sequence[Any]]:
        """The words that mean the same in the current application's directory (`services.catalog.synonyms`)."""
        synonyms: Mapping[str, Sequence[Any]] = current_app.extensions["synonyms"]
        return synonyms

    @property
    def definitions(self) -> Any:
        """The `own_fields.Reader` of the definitions that an extra has (`directory.extras.Extra`), or None."""
        return current_app.extensions["definitions"]

    @property
    def shows_links(self) -> bool:
        """Whether the current application looks at links, and answers have what was seen of them."""
        return bool(current_app.config.get("LINKS_ARE_CHECKED"))  # absent while the extra is off

    @property
    def address(self) -> str:
        """The URL of the current application's database, without its passwords."""
        return self.engine.url.difference_update_query(PASSWORDS).render_as_string(hide_password=True)


class StatelessLogin(LoginManager):  # type: ignore[misc]
    """Flask-Login without its signed cookies: the caller comes from the session row or the bearer token alone.

    The library first looks into Flask's session and its remember cookie. We issue neither, both survive a logout
    where they were copied, and a stray remember cookie would keep our loader from being asked.
    """

    def _load_user(self) -> None:
        self._update_request_context_with_user(self._load_user_from_request(request))


class LateMigrate:
    """Flask-Migrate, bound to the application when something asks for it.

    It brings Alembic along: 11 MB and a third of a second, of which a server has no use.
    """

    def init_app(self, app: Flask, db: SQLAlchemy, **options: Any) -> None:
        """Leave word of what to bind."""
        app.extensions["migrate"] = _Unbound(app, db, options)


class _Unbound:
    """Stands for the extension's entry, and puts the real one in its place when it is looked into."""

    def __init__(self, app: Flask, db: SQLAlchemy, options: dict[str, Any]) -> None:
        self._app, self._db, self._options = app, db, options

    def __getattr__(self, name: str) -> Any:
        from flask_migrate import Migrate

        Migrate(self._app, self._db, **self._options)
        return getattr(self._app.extensions["migrate"], name)


db = Database(model_class=Base, session_options={"expire_on_commit": False})
migrate = LateMigrate()
login_manager = StatelessLogin()
limiter = Limiter(key_func=get_remote_address)

# For updates and deletes of which no loaded entity needs to learn.
UNSYNCHRONISED = {"synchronize_session": False}


def modify(statement: Any) -> int:
    """Execute an update or a delete of which no loaded entity needs to learn, and return the number of its rows."""
    result: CursorResult[Any] = db.session.execute(statement, execution_options=UNSYNCHRONISED)  # type: ignore[assignment]
    return result.rowcount
