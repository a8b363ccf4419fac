"""What follows a change of an own field: its values go, or the projects that have it are indexed again, in portions."""

from sqlalchemy import select, text, update

from directory.extensions import db, modify
from directory.models import FieldDefinition, FieldState, Project, ProjectField
from directory.services.catalog import counters, search_index

_REMOVE = {
    "postgresql": text("UPDATE projects SET fields = nullif(fields - CAST(:name AS text), '{}') WHERE id = :project"),
    "sqlite": text("UPDATE projects SET fields = nullif(json_remove(fields, '$.' || :name), '{}') WHERE id = :project"),
}


def purge(most: int) -> int:
    """Go on with what follows changes of fields, for at most so many projects. Returns their number.

    The values of deleted fields go, and the names of those without any are free. Projects are indexed again.
    """
    number = 0
    for state, work in ((FieldState.LEAVING, remove_values), (FieldState.PRESENT, index_again)):
        names = select(FieldDefinition.name).where(FieldDefinition.state == state).order_by(FieldDefinition.id)
        names = names.where(FieldDefinition.indexed_to.is_not(None)) if work is index_again else names
        for name in db.session.scalars(names).all():
            number += work(name, most - number) if number < most else 0
    return number


def remove_values(name: str, most: int) -> int:
    """Remove at most so many values of a deleted field, and free its name if these are all. Returns the number."""
    ids = select(ProjectField.project_id).where(ProjectField.field == name).distinct().limit(most)
    locked = select(Project.id).where(Project.id.in_(ids)).order_by(Project.id).with_for_update(key_share=True)
    found = list(db.session.scalars(locked))
    rows = [{"project": project_id, "name": name} for project_id in found]
    if rows:
        counters.lock(found)
        db.session.connection().execute(_REMOVE[db.engine.dialect.name], rows)
        db.session.expire_all()
        _index(found)
    if len(rows) < most:
        modify(update(FieldDefinition).where(FieldDefinition.name == name).values(state=FieldState.GONE))
    return len(rows)


def index_again(name: str, most: int) -> int:
    """Index at most so many projects that have a field, after those that are indexed already. Returns the number."""
    row = db.session.scalars(select(FieldDefinition).where(FieldDefinition.name == name)).one()
    having = ProjectField.project_id > (row.indexed_to or 0), ProjectField.field == name
    ids = select(ProjectField.project_id).where(*having).distinct().order_by(ProjectField.project_id).limit(most)
    found = list(db.session.scalars(ids))
    _index(found)
    row.indexed_to = found[-1] if found and len(found) == most else None
    return len(found)


def hide(name: str) -> None:
    """Have no search find the projects whose words of a field are still those of before, until they are indexed again.

    Otherwise it would tell values that nobody may see any longer.
    """
    row = db.session.scalars(select(FieldDefinition).where(FieldDefinition.name == name)).one()
    if row.state == FieldState.LEAVING or row.indexed_to is not None:
        after = ProjectField.project_id > (row.indexed_to or 0)
        search_index.forget_among(select(ProjectField.project_id).where(ProjectField.field == name, after))


def _index(ids: list[int]) -> None:
    """Index projects by the fields as this transaction sees them."""
    if db.definitions is not None and ids:
        search_index.index(db.session.scalars(select(Project).where(Project.id.in_(ids))), db.definitions.read())
