"""Templates are translated when they are compiled, and their values are escaped in every language."""

import pytest
from jinja2 import DictLoader, TemplateSyntaxError

from directory.http.converters import Synchronous
from directory.language.catalogues import Catalogue
from directory.language.locales import locale_of
from directory.language.messages import END_ISOLATE, ISOLATE, _, ngettext, pgettext

LINKED = "Hi {name}, {strong}you{end} may {link}go{end}"
GERMAN = Catalogue("de", {("", LINKED): ("{link}Geh{end}, {name} & <{strong}du{end}>",), ("", "Yes"): ("Ja",)})
# Arabic has a form for two.
ARABIC = Catalogue("ar", {("", "{number} vote"): ("one", "two", "many {number}")}, lambda number: min(number, 3) - 1)


def rendered(source, catalogue=None, **values):
    app = Synchronous(__name__)
    app.jinja_loader = DictLoader({"a.html": source})
    app.jinja_env.filters["number"] = "{:,}".format
    environment = app.jinja_env.speaking(catalogue) if catalogue else app.jinja_env
    return environment.get_template("a.html").render(**values)


SOURCE = f'<p>{{{{ _("{LINKED}", name=name, link="/a?b&c") }}}}</p>'


def test_a_message_in_a_template_is_its_text_with_escaped_values():
    said = '<p>Hi &lt;b&gt;, <strong>you</strong> may <a href="/a?b&amp;c">go</a></p>'
    assert rendered(SOURCE, name="<b>") == said


def test_a_translation_may_move_values_and_has_no_html():
    said = '<p><a href="/a?b&amp;c">Geh</a>, &lt;b&gt; &amp; &lt;<strong>du</strong>&gt;</p>'
    assert rendered(SOURCE, GERMAN, name="<b>") == said


def test_a_message_that_is_an_argument_of_a_macro_or_chosen_by_a_condition_is_escaped_once():
    macro = '{% macro m(text) %}<i title="{{ text }}">{% endmacro %}'
    source = macro + '{{ m(_("Say {name}", name=name)) }}{{ _("{strong}A{end}") if name else _("B") }}'
    assert rendered(source, name='"<') == '<i title="Say &#34;&lt;"><strong>A</strong>'


@pytest.mark.parametrize(
    ("number", "english", "arabic"),
    [(1, "1 vote", "one"), (2, "2 votes", "two"), (3, "3 votes", "many 3"), (4000, "4,000 votes", "many 4,000")],
)
def test_a_number_chooses_the_form_by_the_rule_of_the_language(number, english, arabic):
    source = '{{ ngettext("{number} vote", "{number} votes", n) }}'
    assert (rendered(source, n=number), rendered(source, ARABIC, n=number)) == (english, arabic)
    made = ngettext("{number} vote", "{number} votes", number)
    assert ARABIC.say(made).replace(",", "") == arabic.replace(",", "")
    assert rendered("{{ made }}", ARABIC, made=made).replace(",", "") == arabic.replace(",", "")


def test_a_message_of_the_code_is_translated_where_it_is_shown_and_is_its_english_text_elsewhere():
    error = ValueError(_("Yes"))
    assert GERMAN.say(str(error)) == "Ja"
    assert (rendered("{{ it }}", GERMAN, it=error.args[0]), rendered("{{ it }}", it=error.args[0])) == ("Ja", "Yes")
    assert f"{error}" == "Yes"
    outer = _("Say {word}.", word=_("Yes"))
    assert (outer, GERMAN.say(outer), GERMAN.say("Yes")) == ("Say Yes.", "Say Ja.", "Yes")


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("{{ _(name) }}", "a constant"),
        ('{{ _("a", "b") }}', "a constant"),
        ('{{ _("{name}") }}', "no value for {name}"),
    ],
)
def test_a_message_that_cannot_be_translated_is_an_error_of_the_template(source, why):
    with pytest.raises(TemplateSyntaxError, match=why):
        rendered(source)


def test_from_right_to_left_values_are_kept_apart_from_the_text_but_for_addresses():
    arabic = Catalogue("ar", {("", "By {name}"): ["من {name}"]}, locale=locale_of("ar"))
    apart = f"من {ISOLATE}ada{END_ISOLATE}"
    assert rendered('{{ _("By {name}", name=who) }}', arabic, who="ada") == apart
    assert arabic.say(_("By {name}", name="ada")) == apart
    assert arabic.say(_("By {name}", name="https://example.org")) == "من https://example.org"


def test_a_context_tells_messages_of_one_english_text_apart():
    texts = {("tabs", "All"): ["Alle"], ("categories", "All of {n}"): ["Jede von {n}"], ("", "All"): ["Alles"]}
    german = Catalogue("de", texts)
    source = '{{ pgettext("tabs", "All") }} {{ _("All") }} {{ pgettext("categories", "All of {n}", n=n) }}'
    assert rendered(source, german, n="<3") == "Alle Alles Jede von &lt;3"
    assert rendered(source, n="<3") == "All All All of &lt;3"
    made = pgettext("categories", "All of {n}", n=3)
    assert (german.say(made), german.say(made.filled(n=4)), str(made)) == ("Jede von 3", "Jede von 4", "All of 3")
    assert german.say(pgettext("elsewhere", "All")) == "All"


def test_a_member_of_a_dictionary_comes_before_an_attribute_but_for_the_methods_of_dictionaries():
    project = {"title": "A", "items": "no method", "copy": 1}
    source = "{{ it.title }} {{ it.missing }}{% for name, value in it.items() %}{{ name }}={{ value }} {% endfor %}"
    assert rendered(source, it=project) == "A title=A items=no method copy=1 "
