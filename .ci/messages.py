"""Collect the messages for the translators: python .ci/messages.py [check | add TAG].

It writes directory/locale/messages.pot from the templates and the Python sources, and brings the translations in
directory/locale/[tag]/messages.po up to date with it. It writes the facts of CLDR that the service needs, too, in
directory/language/locales.json. `add` begins a translation, by the BCP 47 tag of its language. `check` writes nothing:
it fails if one of the two files is stale, or if a translation lacks a placeholder of its message.
"""

import ast
import io
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from babel import Locale
from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po
from jinja2 import nodes
from jinja2.environment import Environment

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from directory.language.catalogues import has_the_placeholders  # noqa: E402

POT = ROOT / "directory" / "locale" / "messages.pot"
LOCALES = ROOT / "directory" / "language" / "locales.json"
# Ours, and those into which an operator may translate.
LANGUAGES = """
ar bg bn ca cs da de de-AT de-CH el en-GB es es-MX et eu fa fi fr fr-CA gl he hi hr hu id it ja ko lt lv mk ms nb nl pl
pt pt-BR ro ru sk sl sq sr sv sw ta te th tr uk ur vi zh zh-Hant
"""
LEAST = {"es": 2, "pl": 2}  # minimumGroupingDigits, which Babel leaves out: 1234, and 12.345
UNSPACED = {"ja", "zh", "zh-Hant"}  # whose sentences have no space between them, which CLDR does not say
FIELDS = {"d": "{day}", "dd": "{day:02}", "M": "{number}", "MM": "{number:02}", "MMM": "{month}", "y": "{year}"}
TEXTS = {"_": 1, "ngettext": 2, "pgettext": 2}  # the functions that make messages, and the number of their constants
CONTEXT = "pgettext"
HEADER = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=utf-8\\n"\n'
NOTE = "# The messages of the service. Made by .ci/messages.py: make words"

Found = tuple[str, ...]  # a message, or its singular and its plural; the context of both is the first


def of_template(path: Path) -> Iterator[Found]:
    """The messages of a template."""
    for call in Environment().parse(path.read_text()).find_all(nodes.Call):
        name = call.node.name if isinstance(call.node, nodes.Name) else ""
        if name in TEXTS:
            yield _found(name, [each.value for each in call.args[: TEXTS[name]]])


def of_module(path: Path) -> Iterator[Found]:
    """The messages of a Python module. Raises SystemExit if a message is not a constant."""
    for call in ast.walk(ast.parse(path.read_text())):
        name = call.func.id if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) else ""
        if name in TEXTS:
            given: Any = call.args[: TEXTS[name]]  # type: ignore[attr-defined]
            if not all(isinstance(each, ast.Constant) and isinstance(each.value, str) for each in given):
                raise SystemExit(f"{path}:{call.lineno}: a message is a constant text")  # type: ignore[attr-defined]
            yield _found(name, [each.value for each in given])


def _found(name: str, texts: list[str]) -> Found:
    return tuple(texts if name == CONTEXT else ["", *texts])


def collected() -> str:
    """The text of the file: the messages in the order of the files that have them."""
    catalog = Catalog(fuzzy=False)
    files = [*sorted(ROOT.glob("directory/**/templates/*.html")), *sorted(ROOT.glob("directory/**/*.py"))]
    for path in files:
        for context, *texts in (of_template if path.suffix == ".html" else of_module)(path):
            message = tuple(texts) if len(texts) > 1 else texts[0]
            places = [(path.relative_to(ROOT).as_posix(), None)]
            catalog.add(message, locations=places, context=context or None)
    return f"{NOTE}\n{printed(catalog, HEADER)}"


def locales() -> str:
    """The text of the file with the facts of CLDR. Digits are the Latin ones, as in addresses and fields."""
    return json.dumps({tag: facts(tag) for tag in LANGUAGES.split()}, ensure_ascii=False, indent=1) + "\n"


def facts(tag: str) -> dict[str, Any]:
    """How a language writes days and numbers."""
    locale = Locale.parse(tag.replace("-", "_"))
    name = str(locale.get_display_name(locale))
    numbers, pattern = locale.decimal_formats[None], locale.date_formats["medium"].pattern
    names = {"L" * length: "M" * length for length in (1, 2, 3)}
    parts = re.findall(r"'([^']*)'|([A-Za-z])(\2*)|([^A-Za-z'])", pattern)
    fields = ("".join(part[1:3]) for part in parts)
    written = [
        FIELDS[names.get(field, field)] if field else part[0] or part[3]
        for part, field in zip(parts, fields, strict=True)
    ]
    return {
        "name": name[:1].upper() + name[1:],
        "direction": locale.text_direction,
        "pattern": "".join(written),
        "months": list(locale.months["format"]["abbreviated"].values()),
        "group": locale.number_symbols["latn"]["group"],
        "least": LEAST.get(tag, 1),
        "sizes": list(numbers.grouping),
        **({"between": ""} if tag in UNSPACED else {}),
    }


def printed(catalog: Catalog, header: str) -> str:
    """The text of a catalogue, without Babel's own header, which has the time, and its guesses at formats."""
    out = io.BytesIO()
    write_po(out, catalog, width=120, omit_header=True, ignore_obsolete=True)
    lines = [line for line in out.getvalue().decode().splitlines() if not line.startswith("#, ")]
    return "\n".join([header, *lines, ""])


def translations() -> Iterator[tuple[Path, Catalog]]:
    """The translations that are there."""
    for path in sorted(POT.parent.glob("*/messages.po")):
        yield path, read_po(io.BytesIO(path.read_bytes()), locale=path.parent.name.replace("-", "_"))


def write(path: Path, catalog: Catalog) -> None:
    """Write a translation, up to date with the messages. What was said of another message is not kept as a guess."""
    catalog.update(read_po(io.BytesIO(POT.read_bytes())), no_fuzzy_matching=True)
    path.parent.mkdir(exist_ok=True)
    facts = f'"Language: {path.parent.name}\\n"\n"Plural-Forms: {catalog.plural_forms}\\n"\n'
    path.write_text(printed(catalog, HEADER + facts))


def faults(catalog: Catalog) -> Iterator[str]:
    """What is wrong in a translation."""
    for message in catalog:
        if not message.id or not message.string:
            continue
        ids, strings = ([each] if isinstance(each, str) else list(each) for each in (message.id, message.string))
        for string in filter(None, strings):
            if not has_the_placeholders(string, ids[0], is_plural=len(ids) > 1):
                yield f"{message.lineno}: {string!r} has not the placeholders of {ids[0]!r}"


def check(text: str) -> None:
    """Raise SystemExit with the faults, if there are any."""
    for path, wanted in ((POT, text), (LOCALES, locales())):
        if not path.exists() or path.read_text() != wanted:
            raise SystemExit(f"{path.relative_to(ROOT)} is not up to date: run make words")
    if wrong := [f"{path}:{fault}" for path, catalog in translations() for fault in faults(catalog)]:
        raise SystemExit("\n".join(wrong))


def main(arguments: list[str]) -> None:
    """Collect the messages, begin a translation, or check. Raises SystemExit for a fault or an unknown language."""
    text = collected()
    if arguments[:1] == ["check"]:
        check(text)
        return
    POT.write_text(text)
    LOCALES.write_text(locales())
    if arguments[:1] == ["add"]:
        catalog = Catalog(locale=arguments[1].replace("-", "_"))
        if catalog.locale is None:
            raise SystemExit(f"{arguments[1]} is not a known language")
        write(POT.parent / arguments[1] / POT.with_suffix(".po").name, catalog)
    for path, catalog in translations():
        write(path, catalog)


if __name__ == "__main__":
    main(sys.argv[1:])
