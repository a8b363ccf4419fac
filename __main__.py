"""The command `project-directory`: `serve`, and every command of `flask`. A checkout has it as `python .`.

A wheel holds the modules of a checkout as they are, in one folder `project_directory`. That folder goes first on the
path of this process alone, so that no module with a common name such as `config` is installed for all programs.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from flask.cli import FlaskGroup

if TYPE_CHECKING:
    from flask import Flask

FOLDER = str(Path(__file__).resolve().parent)


def main() -> None:
    """Run the command that the arguments name."""
    if FOLDER not in sys.path:
        sys.path.insert(0, FOLDER)
    # config.py reads `.env` itself, so Flask does not.
    group = FlaskGroup(
        name="project-directory",
        help="Serve the project directory, and look after its data.",
        create_app=_application,
        add_version_option=False,
        load_dotenv=False,
        params=[click.Option(["--version"], is_flag=True, is_eager=True, callback=_version, help="Show the version.")],
    )
    group.add_command(
        click.Command(
            "serve",
            callback=_serve,
            help="Serve with gunicorn, whose own options may follow.",
            params=[click.Argument(["options"], nargs=-1, type=click.UNPROCESSED)],
            context_settings={"ignore_unknown_options": True},
        )
    )
    group.main(prog_name="project-directory")


def _application() -> "Flask":
    from wsgi import app

    return app


def _serve(options: tuple[str, ...]) -> None:
    import serve

    # The path of a script: a gunicorn that replaces itself runs its own command line again.
    sys.argv = [serve.__file__, *options]
    serve.main()


def _version(context: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if wanted:
        from directory.services.build import VERSION

        click.echo(f"project-directory {VERSION}")
        context.exit()


if __name__ == "__main__":
    main()
