"""Jinja's environment for one language: messages are translated when a template is compiled, so a page costs no more.

In a template `_("No projects in {name} yet", name=category.name)` is a message, and `ngettext("{number} vote",
"{number} votes", project.upvotes)` one that depends on a number; `pgettext("of filters", "All")` has a context. All
take constants. They become the text of the environment's language, with the values between its parts, which Jinja
escapes as everywhere.

A message has no HTML. `{strong}…{end}` is bold, `{code}…{end}` code, and `{link}…{end}` a link, whose address is an
argument of that name (also link2, and so on). Other markup is the value of a placeholder.
"""

from itertools import groupby
from typing import Any

from flask.templating import Environment
from jinja2 import TemplateSyntaxError, nodes
from jinja2.visitor import NodeTransformer
from markupsafe import escape

from directory.language.catalogues import ENGLISH, Catalogue, placeholders
from directory.language.messages import END_ISOLATE, ISOLATE, PLACEHOLDER, Message

TAGS = {"strong", "code"}
LINK, END = "link", "end"
INDEX = "plural_form"  # a function of the environment: the form for a number
MESSAGE, PLURAL, CONTEXT = "_", "ngettext", "pgettext"
METHODS = frozenset(dir(dict))


class TranslatedEnvironment(Environment):
    """An environment whose templates speak the language of `catalogue`."""

    catalogue: Catalogue = ENGLISH

    def getattr(self, obj: Any, attribute: str) -> Any:
        """A member: of a dictionary sooner than Jinja, which looks for an attribute first, and fails with an exception.

        A page asks for members of projects a thousand times.
        """
        if type(obj) is dict and attribute in obj and attribute not in METHODS:
            return obj[attribute]
        return super().getattr(obj, attribute)

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        return _Folder(self, name, filename).visit(tree)  # type: ignore[no-any-return]

    def speaking(self, catalogue: Catalogue, **filters: Any) -> "TranslatedEnvironment":
        """An environment of the same templates in another language, with filters of its own."""
        other = self.overlay(cache_size=400, finalize=_translating(catalogue))
        assert isinstance(other, TranslatedEnvironment)  # noqa: S101 (an overlay has the class of its base)
        other.catalogue = catalogue
        other.filters = {**self.filters, **filters}
        other.globals = {**self.globals, INDEX: catalogue.plural, "language": catalogue}
        return other


def _translating(catalogue: Catalogue) -> Any:
    """What Jinja calls with each value that it shows: messages that code has made are translated then."""
    return lambda value: catalogue.say(value) if type(value) is Message else value


class _Folder(NodeTransformer):
    """Replaces calls with messages by what they say."""

    def __init__(self, environment: "TranslatedEnvironment", name: str | None, filename: str | None) -> None:
        self._catalogue, self._name, self._filename = environment.catalogue, name, filename
        self._messages: list[nodes.Expr] = []  # that have several parts; Jinja allows no kinds of nodes of our own
        self._context = nodes.EvalContext(environment, name)

    def visit_Call(self, node: nodes.Call) -> nodes.Node:  # noqa: N802 (Jinja's name)
        """A call with a message as the parts of its text; any other as it is."""
        self.generic_visit(node)
        if not isinstance(node.node, nodes.Name) or node.node.name not in {MESSAGE, PLURAL, CONTEXT}:
            return node
        facts = {keyword.key: keyword.value for keyword in node.kwargs}
        if node.node.name == MESSAGE:
            [message] = self._constants(node, 1)
            return self._joined(node, message, self._catalogue.text(message), facts)
        if node.node.name == CONTEXT:
            context, message = self._constants(node, 2)
            return self._joined(node, message, self._catalogue.text(message, context), facts)
        message, many = self._constants(node, 2, others=1)
        forms, choose = self._catalogue.forms(message, many)
        number = node.args[2]
        facts = {"number": nodes.Filter(number, "number", [], [], None, None, lineno=node.lineno), **facts}
        parts = [self._joined(node, many, form, facts) for form in forms]
        if choose is ENGLISH.plural:
            is_one = nodes.Compare(number, [nodes.Operand("eq", nodes.Const(1))])
            return nodes.CondExpr(is_one, parts[0], parts[1], lineno=node.lineno)
        index = nodes.Call(nodes.Name(INDEX, "load"), [number], [], None, None)
        return nodes.Getitem(nodes.List(parts), index, "load", lineno=node.lineno)

    def visit_Output(self, node: nodes.Output) -> nodes.Node:  # noqa: N802
        """An output whose messages are written part by part, and not joined first."""
        self.generic_visit(node)
        node.nodes = [part for child in node.nodes for part in self._parts(child)]
        return node

    def _parts(self, node: nodes.Expr) -> list[nodes.Expr]:
        is_message = isinstance(node, nodes.Concat) and any(node is message for message in self._messages)
        return node.nodes if is_message else [node]  # type: ignore[attr-defined]

    def _constants(self, node: nodes.Call, count: int, *, others: int = 0) -> list[str]:
        constants = node.args[:count]
        if len(node.args) != count + others or node.dyn_args or node.dyn_kwargs or not all(
            isinstance(constant, nodes.Const) and isinstance(constant.value, str) for constant in constants
        ):  # fmt: skip
            raise TemplateSyntaxError("a message is a constant text", node.lineno, self._name, self._filename)
        return [constant.value for constant in constants]  # type: ignore[attr-defined]

    def _joined(self, node: nodes.Call, message: str, text: str, facts: dict[str, nodes.Expr]) -> nodes.Expr:
        """The parts of a text, with the values of its placeholders between them."""
        known = {*facts, *TAGS, END}
        if unknown := placeholders(message) - known:
            what = f"the message has no value for {{{min(unknown)}}}"
            raise TemplateSyntaxError(what, node.lineno, self._name, self._filename)
        parts: list[str | nodes.Expr] = []  # HTML, and values
        is_open: list[str] = []
        for place, part in enumerate(PLACEHOLDER.split(text)):
            if place % 2 == 0:
                parts.append(_escaped(part))
            elif part.startswith(LINK):
                is_open.append("a")
                parts += ['<a href="', self._constant(facts[part]), '">']
            elif part in facts:
                value = self._constant(facts[part])
                parts += [ISOLATE, value, END_ISOLATE] if self._catalogue.isolates else [value]
            elif part == END:
                parts.append(f"</{is_open.pop() if is_open else 'a'}>")
            else:
                is_open.append(part)
                parts.append(f"<{part}>")
        return self._concatenated(parts, node.lineno)

    def _constant(self, value: nodes.Expr) -> str | nodes.Expr:
        """The HTML of a value that is known already, otherwise the value."""
        try:
            return str(escape(value.as_const(self._context)))
        except nodes.Impossible:
            return value

    def _concatenated(self, parts: list[str | nodes.Expr], lineno: int) -> nodes.Expr:
        """One expression. Neighbours that are HTML become one: Jinja would join constants before it escapes them."""
        joined: list[nodes.Expr] = []
        for is_text, group in groupby(parts, lambda part: isinstance(part, str)):
            if is_text:
                joined += [nodes.MarkSafe(nodes.Const(text))] if (text := "".join(group)) else []  # type: ignore[arg-type]
            else:
                joined += group  # type: ignore[arg-type]
        if len(joined) == 1:
            return joined[0]
        self._messages.append(nodes.Concat(joined, lineno=lineno))
        return self._messages[-1]


def _escaped(text: str) -> str:
    """The text in HTML. Our attributes stand in double quotes, so apostrophes, which are frequent, stay as they are."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
