"""Actions of people on the service, over and over, with their outcomes noted in the ledger."""

import random
import time
from itertools import count

from tests.system.chaos.load import Answer, Step
from tests.system.chaos.stage import MAKING, Person, Stage

_numbers = count(1000)


def reader(stage: Stage, by: Person | None = None) -> Step:
    """Reads the list."""
    return lambda: stage.ask("GET", "/api/projects", by)


def toggler(stage: Stage, by: Person, seed: int = 0) -> Step:
    """Toggles votes, perhaps together with others of the same account."""
    chance = random.Random(seed)

    def step() -> Answer:
        project = chance.choice(stage.projects)
        answer = stage.ask("POST", f"/api/projects/{project}/upvote", by)
        stage.ledger.note("toggle", answer.status, user=by.id, project=project)
        return answer

    return step


def voter(stage: Stage, by: Person, seed: int = 0) -> Step:
    """Toggles votes alone in an account, and after an answer that was lost sets or clears the vote to know it."""
    chance, doubtful = random.Random(seed), set()
    ways = {"toggle": "POST", "cast": "PUT", "withdraw": "DELETE"}

    def step() -> Answer:
        project = next(iter(doubtful)) if doubtful else chance.choice(stage.projects)
        action = chance.choice(["cast", "withdraw"]) if doubtful else "toggle"
        answer = stage.ask(ways[action], f"/api/projects/{project}/upvote", by)
        stage.ledger.note(action, answer.status, user=by.id, project=project)
        (doubtful.discard if answer.good else doubtful.add)(project)
        return answer

    return step


def watcher(stage: Stage, by: Person, project: int) -> Step:
    """Sets and clears the one vote of a project, and reads after each acknowledged write what the public sees of it.

    The step raises AssertionError where that is stale: where it lacks what was acknowledged before it was asked for.
    """
    actions = [("cast", "PUT", 1), ("withdraw", "DELETE", 0)]

    def step() -> Answer:
        actions.reverse()
        op, method, votes = actions[0]
        written = stage.ask(method, f"/api/projects/{project}/upvote", by)
        stage.ledger.note(op, written.status, user=by.id, project=project)
        if written.status != 200:
            return written
        read = stage.ask("GET", f"/api/projects/{project}")
        if read.status == 200:
            assert read.json["upvotes"] == votes, f"stale: {read.json['upvotes']} votes after {op} was acknowledged"
        return read

    return step


def author(stage: Stage, by: Person, made: list[int], seed: int = 0) -> Step:
    """Submits projects to `made`, edits them, and deletes a few."""
    chance = random.Random(seed)
    mine: list[int] = []

    def step() -> Answer:
        what = chance.random()
        if not mine or what < 0.5:
            answer = stage.ask("POST", "/api/projects", by, {**MAKING, "url": f"https://example.org/{next(_numbers)}"})
            project = answer.json["id"] if answer.status == 201 else None
            stage.ledger.note("submit", answer.status, began=answer.began, project=project, title=MAKING["title"])
            if project:
                mine.append(project)
                made.append(project)
            return answer
        project = chance.choice(mine)
        if what < 0.85:
            return edit(stage, by, project, f"Title {what:.9f}")
        mine.remove(project)
        answer = stage.ask("DELETE", f"/api/projects/{project}", by)
        stage.ledger.note("delete", answer.status, project=project)
        return answer

    return step


def publisher(stage: Stage, by: Person, admin: Person) -> Step:
    """Submits a project and has it approved, ten times a second at most, by an administrator that keeps the role."""

    def step() -> Answer:
        time.sleep(0.1)
        asked = {**MAKING, "url": f"https://example.org/{next(_numbers)}"}
        answer = stage.ask("POST", "/api/projects", by, asked)
        project = answer.json["id"] if answer.status == 201 else None
        stage.ledger.note("submit", answer.status, began=answer.began, project=project, title=MAKING["title"])
        if project is None:
            return answer
        decided = stage.ask("PUT", f"/api/admin/projects/{project}/approve", admin)
        stage.ledger.note("approve", decided.status, began=decided.began, project=project)
        return decided

    return step


def edit(stage: Stage, by: Person, project: int, title: str) -> Answer:
    """Gives a project another title."""
    answer = stage.ask("PUT", f"/api/projects/{project}", by, {"title": title})
    state = answer.json["status"] if answer.status == 200 else None
    stage.ledger.note("edit", answer.status, began=answer.began, project=project, title=title, state=state)
    return answer


def moderator(stage: Stage, by: Person, made: list[int], seed: int = 0) -> Step:
    """Decides about the newest of `made` and takes some down; now and then makes or unmakes an administrator."""
    chance = random.Random(seed)

    def step() -> Answer:
        if not made or chance.random() < 0.1:
            other = chance.choice(stage.admins)
            role = chance.choice(["admin", "admin", "member"])
            return stage.ask("PUT", f"/api/admin/users/{other.id}", by, {"role": role})
        project = chance.choice(made[-10:])
        word = chance.choice(["approve", "approve", "approve", "reject", "unpublish"])
        answer = stage.ask("PUT", f"/api/admin/projects/{project}/{word}", by)
        stage.ledger.note(word, answer.status, began=answer.began, project=project)
        return answer

    return step


def everybody(stage: Stage) -> list[Step]:
    """Four voters, an author, two moderators and a reader: every kind of write, and the list that they change."""
    made: list[int] = []
    return [
        *(voter(stage, person, seed) for seed, person in enumerate(stage.members[:4])),
        author(stage, stage.members[4], made, 4),
        *(moderator(stage, person, made, 5 + seed) for seed, person in enumerate(stage.admins[:2])),
        reader(stage),
    ]
