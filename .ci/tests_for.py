"""Print the test files that belong to changed files: python .ci/tests_for.py [FILE ...]

Without FILEs it prints those of the files that differ from the last commit. Test files belong to a file if they import
it, are named after it, or changed with it in commits: of the last the ten that changed with it most often. A changed
test file belongs to itself. It runs by the Python that makes `.venv`, so it needs no package.
"""

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TESTS = [*ROOT.glob("tests/*/test_*.py"), *ROOT.glob("tests/extras/*/test_*.py")]
MOST = 10
WIDE = 40  # a commit of more files says nothing about any two of them


def git(*words: str) -> list[str]:
    """The lines that a git command prints; none without a repository."""
    return subprocess.run(["git", *words], cwd=ROOT, stdout=subprocess.PIPE, text=True).stdout.splitlines()  # noqa: S603, S607


def is_test(name: str) -> bool:
    return name.startswith("tests/") and Path(name).name.startswith("test_") and (ROOT / name).exists()


def changed() -> list[str]:
    """The files that differ from the last commit, new ones included."""
    return [*git("diff", "--name-only", "HEAD"), *git("ls-files", "--others", "--exclude-standard")]


def imported(source: str) -> set[str]:
    """The dotted names of everything that a Python file imports."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def importing(names: list[str]) -> set[str]:
    """The test files that import one of these files."""
    modules = {name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in names}
    files = (path for path in TESTS)
    return {str(path.relative_to(ROOT)) for path in files if imported(path.read_text()) & modules}


def together(names: list[str]) -> list[str]:
    """The test files that commits changed with one of these files."""
    scores: Counter[str] = Counter()
    for commit in "\n".join(git("log", "--name-only", "--format=%x00")).split("\0"):
        files = commit.split()
        if len(files) <= WIDE and not set(names).isdisjoint(files):
            scores.update({name: 1 / len(files) for name in files if is_test(name)})
    return [name for name, _ in scores.most_common(MOST)]


def namesakes(names: list[str]) -> set[str]:
    """The test files that are named after one of these files."""
    begins = tuple(f"test_{Path(name).stem}{end}" for name in names for end in (".", "_"))
    files = (str(path.relative_to(ROOT)) for path in TESTS)
    return {name for name in files if Path(name).name.startswith(begins)}


def tests_for(names: list[str]) -> list[str]:
    """The test files that belong to these files, in the order of their names."""
    return sorted({*filter(is_test, names), *importing(names), *namesakes(names), *together(names)})


if __name__ == "__main__":
    sys.stdout.writelines(f"{name}\n" for name in tests_for(sys.argv[1:] or changed()))
