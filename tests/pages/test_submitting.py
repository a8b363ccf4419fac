"""Submitting and editing a project by a form, without JavaScript."""

import re
from datetime import timedelta
from html import unescape

import pytest
from markupsafe import escape

from directory.models import now
from directory.services.catalog.fields import OWNED
from tests.pages.conftest import text_of
from tests.support.browsers import Browser
from tests.support.factories import PASSWORD
from tests.support.pictures import RED

LAMP = {"title": "Lamp", "tagline": "Lights a desk", "url": "lamp.example", "category": "tools"}


@pytest.fixture
def ada(world):
    world.category("tools")
    return world.user("ada")


def values(answer):
    """The fields of the form of a project, with what they contain."""
    form = answer.text.partition('<form class="grow form"')[2].partition("</form>")[0]
    found = dict(re.findall(r'<input [^>]*name="(\w+)"[^>]*value="([^"]*)"', form))
    for tag in re.findall("<input [^>]*>", form):
        name, value = re.search('name="(\\w+)"', tag)[1], re.search('value="([^"]*)"', tag)
        found[name] = value[1] if value else ""
    found |= dict(re.findall(r'<textarea [^>]*name="(\w+)"[^>]*>\n(.*?)</textarea>', form, re.DOTALL))
    for name, options in re.findall(r'<select [^>]*name="(\w+)"[^>]*>(.*?)</select>', form, re.DOTALL):
        chosen = re.search('<option value="([^"]*)" selected', options)
        found[name] = chosen[1] if chosen else ""
    return {name: unescape(value) for name, value in found.items()}


def errors(answer):
    found = re.findall(r'<p class="error" id="(\w+)-about">(.*?)</p>', answer.text)
    return {name: unescape(text) for name, text in found}


def send(browser, path, **fields):
    """Send a form as browsers do; a field of bytes is a file."""
    parts = []
    for name, value in fields.items():
        file = '; filename="a.png"\r\nContent-Type: image/png' if isinstance(value, bytes) else ""
        content = value if isinstance(value, bytes) else value.encode()
        parts.append(f'--x\r\nContent-Disposition: form-data; name="{name}"{file}\r\n\r\n'.encode() + content + b"\r\n")
    body = b"".join(parts) + b"--x--\r\n"
    return browser.post(path, data=body, content_type="multipart/form-data; boundary=x")


def test_who_wants_to_submit_reads_before_signing_in_what_it_takes_and_how_long(make_app, tmp_path, world, ada):
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "guidelines.md").write_text("# What gets listed\n\nTools.")
    app = make_app(SITE_DIR=str(tmp_path))
    asked = Browser(app).get("/submit").headers["Location"]
    needs, half = "You need an account, and of the project its address", "Half of the latest reviews took up to"
    for path in (asked, "/submit"):
        browser = Browser(app).sign_in("ada") if path == "/submit" else Browser(app)
        before = browser.get(path).text
        assert '<p><a href="/guidelines">What gets listed</a></p>' in before
        assert (needs in before, half in before) == (path == asked, False)
    root = world.admin()
    for hours, said in ((1.5, "2 hours."), (160, "4 days.")):
        project = world.project(ada, "pending")
        world.age(project, place=now() - timedelta(hours=hours))
        world.caller(root).put(f"/api/admin/projects/{project}/approve")
        assert f"{half} {said}" in Browser(app).get(asked).text
    assert half not in Browser(app).get("/sign-in?next=/mine").text


def test_who_is_not_signed_in_is_asked_to_and_comes_back(app, world, ada):
    project = world.project(ada)
    for path in ("/submit", f"/mine/{project}/edit", f"/mine/{project}/edit?take=rejected"):
        answer = Browser(app).get(path)
        assert answer.status_code == 303
        assert unescape(answer.headers["Location"]).startswith("/sign-in?next=%2F")


def test_a_project_is_submitted_with_its_logo_as_it_is_typed(app, world, ada):
    browser = Browser(app).sign_in("ada")
    page = browser.get("/submit")
    assert (page.status_code, values(page)["expected_user"]) == (200, str(ada.id))
    typed = {
        **LAMP, "tags": "C++, C# Node.js rust\U000e0067, \U000e0067 rust\u094d\u200d",
        "repository_url": "git@github.com:ada/lamp.git",
        "description": "# Lamp\r\n\r\nIt *lights*.", "logo": RED, "expected_user": str(ada.id),
    }  # fmt: skip
    answer = send(browser, "/submit", **typed)
    assert answer.status_code == 303
    project_id = int(re.fullmatch(r"/mine/(\d+)\?done=submitted", answer.headers["Location"])[1])
    stored = world.stored(project_id)
    assert (stored["status"], stored["url"]) == ("pending", "https://lamp.example")
    assert stored["tags"] == ["cpp", "csharp", "nodejs", "rust"]
    assert stored["repository_url"] == "https://github.com/ada/lamp"
    assert stored["description"] == "# Lamp\n\nIt *lights*."
    assert stored["logo"]["64"].startswith("/images/")
    assert stored["version"] == 1
    assert events(world, ada, project_id) == ["submitted"]


def events(world, owner, project_id):
    items = world.caller(owner).get(f"/api/projects/{project_id}/timeline").json["items"]
    return [each["event"] for each in items]


def focused(answer):
    """The elements that ask for the focus: the first one gets it."""
    main = answer.text.partition("<main")[2].partition("</main>")[0]
    return re.findall(r"<(\w+) [^>]*\bautofocus", main)


def test_a_refusal_shows_all_that_was_typed_each_error_at_its_field_and_the_first_is_focused(app, world, ada):
    browser = Browser(app).sign_in("ada")
    typed = {
        "url": "vim.org", "title": " ", "tagline": "x" * 200, "category": "nothing", "tags": "a, Überschrift_, 编辑器",
        "repository_url": "not an address", "description": "\r\n<b>\r\nkept</textarea>",
        "logo": RED,
    }  # fmt: skip
    answer = send(browser, "/submit", **typed)
    assert (answer.status_code, answer.headers["Cache-Control"]) == (422, "no-store")
    assert {*errors(answer)} == {"title", "tagline", "category", "tags", "repository_url"}
    assert "编辑器" in errors(answer)["tags"]
    shown = values(answer)
    for name in ("url", "title", "tagline", "tags", "repository_url", "description"):
        assert shown[name] == typed[name]
    assert re.search('<input id="title"[^>]*aria-invalid="true"[^>]*autofocus', answer.text)
    assert focused(answer) == ["input"]
    assert "choose the file again" in text_of(answer)
    assert world.caller(ada).get("/api/projects?owner=me").json["items"] == []


@pytest.mark.parametrize("content", [b"GIF89a", b"<svg/>", b"x" * (2**20 + 1)], ids=["gif", "svg", "large"])
def test_a_file_that_is_no_logo_is_said_at_its_field_and_nothing_is_sent(app, world, ada, content):
    answer = send(Browser(app).sign_in("ada"), "/submit", **LAMP, logo=content)
    assert (answer.status_code, [*errors(answer)]) == (422, ["logo"])
    assert "choose the file again" not in text_of(answer)  # it would be refused again
    assert "hoose another file." in errors(answer)["logo"] or "Save it smaller" in errors(answer)["logo"]
    assert values(answer)["tagline"] == LAMP["tagline"]
    assert world.caller(ada).get("/api/projects?owner=me").json["items"] == []


def test_a_file_of_another_field_is_refused_and_nothing_is_lost_silently(app, world, ada):
    answer = send(Browser(app).sign_in("ada"), "/submit", **LAMP, picture=RED)
    assert (answer.status_code, answer.text.count("A file was sent in a field that takes none.")) == (422, 1)
    assert world.caller(ada).get("/api/projects?owner=me").json["items"] == []


def test_similar_projects_are_shown_once_with_409_and_another_one_is_submitted(app, world, ada):
    other = world.project(title="Lamp", url="https://lamp.example")
    browser = Browser(app).sign_in("ada")
    answer = send(browser, "/submit", **LAMP, description="kept")
    assert (answer.status_code, answer.headers["Cache-Control"]) == (409, "no-store")
    before, _, form = answer.text.partition('action="/submit')
    # As the hint: a box of its own with a vote, which a form in a form could not have.
    assert '<section class="similar found" role="alert" tabindex="-1" autofocus>' in before
    assert f'href="/p/{other}/lamp"' in before
    assert f'action="/votes/{other}?next=%2Fp%2F{other}%2Flamp"' in before
    assert 'name="another" value="true">It is another project: submit</button>' in answer.text
    assert re.search('<button type="submit"[^>]*>', form)[0] == '<button type="submit" class="button">'  # of Enter
    assert values(answer)["description"] == "kept"
    answer = send(browser, "/submit", **LAMP, description="kept", another="true")
    assert (answer.status_code, answer.headers["Location"].split("?")[1]) == (303, "done=submitted")


def test_a_button_that_is_pressed_twice_submits_and_saves_once(app, world, ada):
    browser = Browser(app).sign_in("ada")
    sent = [send(browser, "/submit", **LAMP) for _ in range(2)]
    assert [answer.status_code for answer in sent] == [303, 303]
    assert sent[0].headers["Location"] == sent[1].headers["Location"]
    [project] = world.caller(ada).get("/api/projects?owner=me").json["items"]
    path = f"/mine/{project['id']}/edit"
    form = {**values(browser.get(path)), "tagline": "Lights the desk"}
    form.pop("logo")
    saved = [send(browser, path, **form, logo=RED) for _ in range(2)]
    assert [answer.status_code for answer in saved] == [303, 303]
    assert events(world, ada, project["id"]) == ["submitted", "edited"]


def test_one_s_own_project_of_the_address_is_named_in_the_refusal(app, world, ada):
    own = world.project(ada, title="My old lamp", url="https://lamp.example")
    browser = Browser(app).sign_in("ada")
    for more in ({}, {"another": "true"}):
        answer = send(browser, "/submit", **LAMP, **more)
        assert (answer.status_code, [*errors(answer)]) == (409, ["url"])
        assert errors(answer)["url"] == "You have submitted this URL already."
        assert "My old lamp</strong></p><p>You sent this on <time" in answer.text
        assert f'</time>: <a href="/mine/{own}">open it</a>.' in answer.text


def test_ones_own_project_at_another_repository_is_found_as_ones_own(app, world, ada):
    code = {"repository_url": "https://code.example/lamp"}
    own = world.project(ada, title="Old lamp", url="https://lamp.example", status="pending", **code)
    browser = Browser(app).sign_in("ada")
    answer = send(browser, "/submit", **LAMP, repository_url="https://code.example/lamp-two")
    assert answer.status_code == 409
    assert re.search(rf'You sent this on <time.*?: <a href="/mine/{own}">open it</a>', answer.text)
    assert "You can vote for it instead" not in answer.text
    assert f"/votes/{own}" not in answer.text


@pytest.mark.parametrize("path", ["/submit", "edit"])
def test_after_a_session_has_ended_one_signs_in_and_what_was_typed_is_there_again(app, world, ada, path):
    path = f"/mine/{world.project(ada)}/edit" if path == "edit" else path
    browser = Browser(app).sign_in("ada")
    text = "Zeile “eins”\r\n\t<b>&amp;" + "木" * 9_000
    typed = {**values(browser.get(path)), **LAMP, "description": text}
    typed.pop("logo", None)
    browser.post("/sign-out")
    refused = send(browser, path, **typed)
    assert refused.status_code == 401
    assert "what you wrote is kept" in text_of(refused)
    assert f'<textarea id="description" rows="10" readonly>\n{escape(text)}</textarea>' in refused.text
    kept = unescape(re.search('name="kept" value="([^"]*)"', refused.text)[1])
    to = unescape(re.search('action="(/sign-in[^"]*)"', refused.text)[1])
    wrong = send(browser, to, login="ada", password="wrong horse", kept=kept)
    assert wrong.status_code == 401
    assert unescape(re.search('name="kept" value="([^"]*)"', wrong.text)[1]) == kept
    signed = send(browser, to, login="ada", password=PASSWORD, kept=kept)
    assert (signed.status_code, signed.headers["Cache-Control"]) == (200, "no-store")
    assert browser.signed_in()
    shown = values(signed)
    assert {name: shown[name] for name in typed} == typed
    assert f'action="{path}' in signed.text
    assert send(browser, path, **shown | {"logo": RED}).status_code == 303


def test_the_way_back_from_an_edit_leads_to_the_page_of_a_live_project_and_to_ones_own_of_any_other(app, world, ada):
    browser = Browser(app).sign_in("ada")
    for status in ("live", "pending", "rejected"):
        project = world.project(ada, status=status)
        own, public = f"/mine/{project}", f"/p/{project}/{world.stored(project)['slug']}"
        answer = browser.get(f"/mine/{project}/edit")
        assert f'href="{public if status == "live" else own}">Back</a>' in answer.text
        assert browser.get(own).status_code == 200


def test_what_is_kept_over_a_sign_in_cannot_break_it(app, world, ada):
    tries = [("/submit", "nonsense"), ("/submit", "[]"), ("/submit", '{"title": 1}'), ("/", '{"title": "x"}')]
    tries += [(to, '{"title": "x"}') for to in ("/votes/1", "/submit?x", "//evil.example", "/mine/99/edit")]
    for to, kept in tries:
        browser = Browser(app)
        answer = browser.post(f"/sign-in?next={to}", data={"login": "ada", "password": PASSWORD, "kept": kept})
        assert answer.status_code in {200, 303}
        assert browser.signed_in()
    for kept in ("nonsense", "[]", '{"title": 1}', '{"title": " "}'):
        answer = browser.post("/sign-in", data={"login": "ada", "password": "wrong horse", "kept": kept})
        assert (answer.status_code, "What you wrote" in answer.text) == (401, False)


def test_in_the_name_of_another_account_nothing_is_sent_and_the_text_is_there_for_copying(app, world, ada):
    world.user("bob")
    project = world.project(ada)
    before, browser = world.stored(project), Browser(app).sign_in("bob")
    for path in ("/submit", f"/mine/{project}/edit"):
        answer = send(browser, path, **LAMP, description="long\r\ntext", expected_user=str(ada.id))
        assert answer.status_code == 409
        assert "Another account is signed in" in text_of(answer)
        assert re.search("<textarea[^>]* readonly>\nlong\r\ntext</textarea>", answer.text)
    assert world.stored(project) == before


def test_text_is_there_for_copying_if_the_project_was_deleted_meanwhile(app, world, ada):
    answer = send(Browser(app).sign_in("ada"), "/mine/99/edit", **LAMP, version="1")
    assert answer.status_code == 404
    assert '<input id="tagline" value="Lights a desk" readonly>' in answer.text


def test_a_save_of_text_and_logo_is_one_edit_that_names_its_fields(app, world, ada):
    project, browser = world.project(ada, title="Lamp", status="pending"), Browser(app).sign_in("ada")
    path = f"/mine/{project}/edit"
    first = browser.get(path)
    assert "<span>" not in first.text.partition("<footer")[2]  # where others show the service's version
    form = {**values(first), "description": "More light", "logo": RED}
    answer = send(browser, path, **form)
    assert (answer.status_code, answer.headers["Location"]) == (303, f"/mine/{project}?done=review")
    assert "Your changes are sent. A reviewer will look at them." in text_of(browser.get(answer.headers["Location"]))
    assert world.stored(project)["logo"] is not None
    assert world.stored(project)["version"] == 2
    for page in (f"/p/{project}/lamp", f"/mine/{project}"):
        assert "Edited: description, logo" in text_of(browser.get(page)).replace(" :", ":").replace(" ,", ",")
    form = {**values(browser.get(path)), "remove_logo": "true"}
    form.pop("logo")
    assert send(browser, path, **form).status_code == 303
    assert world.stored(project)["logo"] is None


def test_saving_the_form_as_it_was_shown_changes_nothing(app, world, ada):
    facts = {"description": "one\n\ntwo ", "tags": ["b", "a"], "repository_url": "https://github.com/ada/lamp"}
    project, browser = world.project(ada, **facts), Browser(app).sign_in("ada")
    path, before = f"/mine/{project}/edit", world.stored(project)
    form = values(browser.get(path))
    form.pop("logo")
    form["description"] = form["description"].replace("\n", "\r\n")  # as browsers send it
    assert send(browser, path, **form).headers["Location"].endswith("?done=saved")
    assert world.stored(project) == before


def test_a_newer_version_is_412_with_both_texts_and_nothing_is_saved(app, world, ada):
    project, browser = world.project(ada, tagline="Old"), Browser(app).sign_in("ada")
    path = f"/mine/{project}/edit"
    form = values(browser.get(path))
    form.pop("logo", None)
    world.caller(world.admin()).put(f"/api/projects/{project}", {"tagline": "Theirs"})
    answer = send(browser, path, **{**form, "tagline": "Mine"})
    assert answer.status_code == 412
    assert "Tagline: yours Mine" in text_of(answer)
    assert "Tagline: saved now Theirs" in text_of(answer)
    assert values(answer)["tagline"] == "Mine"
    assert world.stored(project)["tagline"] == "Theirs"
    again = {**values(answer)}
    again.pop("logo")
    assert send(browser, path, **again).status_code == 303
    assert send(browser, path, **{**form, "version": ""}).status_code == 422


def test_fields_that_wait_are_marked_with_both_texts_and_are_withdrawn_and_taken_back(app, world, ada):
    project, browser = world.project(ada, tagline="Live text", description="Live"), Browser(app).sign_in("ada")
    path = f"/mine/{project}/edit"
    form = {**values(browser.get(path)), "tagline": "New text"}
    form.pop("logo")
    assert send(browser, path, **form).headers["Location"].endswith("done=review")
    page = browser.get(path)
    assert values(page)["tagline"] == "New text"
    assert re.search("Waits for review</span> The live text</summary>\\s*<p[^>]*><bdi>Live text</bdi></p>", page.text)
    assert page.text.count("Waits for review") == 1
    by_admin = Browser(app).sign_in(world.admin().username).get(path)
    assert values(by_admin)["tagline"] == "Live text"
    assert re.search("The text that waits</summary>\\s*<p[^>]*><bdi>New text</bdi></p>", by_admin.text)
    version = values(page)["version"]
    stale = browser.post(f"/mine/{project}/withdraw", data={"version": "1"})
    assert (stale.status_code, values(stale)["tagline"]) == (412, "New text")
    withdrawn = browser.post(f"/mine/{project}/withdraw", data={"version": version})
    assert (withdrawn.status_code, values(withdrawn)["tagline"]) == (200, "Live text")
    back = dict(re.findall('<input type="hidden" name="(\\w+)" value="([^"]*)"', withdrawn.text))
    assert back["tagline"] == "New text"
    taken = send(browser, f"/mine/{project}/text", tagline=back["tagline"])
    assert (taken.status_code, values(taken)["tagline"]) == (200, "New text")
    assert values(taken)["description"] == "Live"
    assert events(world, ada, project)[-1] == "edit_withdrawn"


def test_changes_that_were_rejected_are_taken_into_the_form(app, world, ada):
    project, browser = world.project(ada, tagline="Live text"), Browser(app).sign_in("ada")
    path, admin = f"/mine/{project}/edit", world.caller(world.admin())
    world.caller(ada).put(f"/api/projects/{project}", {"tagline": "New text"})
    admin.put(f"/api/admin/projects/{project}/reject", {"reason": "Too new."})
    page = browser.get(path)
    assert values(page)["tagline"] == "Live text"
    assert "Too new." in text_of(page)
    assert values(browser.get(f"{path}?take=rejected"))["tagline"] == "New text"


def test_administrators_open_the_edit_of_any_project_and_others_do_not(app, world, ada):
    project, pending = world.project(ada, tags=["a"]), world.project(ada, status="pending")
    admin = Browser(app).sign_in(world.admin().username)
    world.user("bob")
    bob = Browser(app).sign_in("bob")
    for each in (project, pending):
        assert values(admin.get(f"/mine/{each}/edit"))["title"] == world.stored(each)["title"]
    assert [bob.get(f"/mine/{each}/edit").status_code for each in (project, pending)] == [403, 404]
    form = {**values(admin.get(f"/mine/{project}/edit")), "tagline": "By an administrator"}
    form.pop("logo")
    assert send(admin, f"/mine/{project}/edit", **form).headers["Location"].endswith("?done=saved")
    assert world.stored(project)["tagline"] == "By an administrator"


def test_without_categories_the_form_says_who_adds_them(app, world):
    world.user("ada")
    assert "An administrator adds them" in text_of(Browser(app).sign_in("ada").get("/submit"))
    admin = Browser(app).sign_in(world.admin().username)
    assert 'href="/admin/categories"' in admin.get("/submit").text


def test_the_old_address_of_an_edit_leads_to_it(app, world, ada):
    answer = Browser(app).sign_in("ada").get("/submit?project=7")
    assert (answer.status_code, answer.headers["Location"]) == (308, "/mine/7/edit")


def test_a_form_from_another_site_is_refused_and_shows_what_was_typed(app, world, ada):
    browser = Browser(app).sign_in("ada")
    answer = browser.post("/submit", data=LAMP, headers={"Sec-Fetch-Site": "cross-site"})
    assert (answer.status_code, values(answer)["title"]) == (403, "Lamp")
    assert world.caller(ada).get("/api/projects?owner=me").json["items"] == []


def test_while_the_site_takes_no_changes_what_was_typed_is_shown_again(app, make_app, world, ada):
    browser = Browser(app).sign_in("ada").copy(make_app(READ_ONLY="true"))
    answer = send(browser, "/submit", **LAMP, description="kept")
    assert answer.status_code == 503
    assert (values(answer)["title"], values(answer)["description"]) == ("Lamp", "kept")


def test_the_form_asks_for_each_field_that_an_owner_writes(app, world, ada):
    shown = values(Browser(app).sign_in("ada").get("/submit"))
    # A logo is a file, and pictures have forms of their own, below the form of an edit.
    assert {field.name for field in OWNED} - {"logo_url", "pictures", "fields"} <= shown.keys()
