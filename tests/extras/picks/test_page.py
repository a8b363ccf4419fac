"""The page of the picks."""

from tests.support.factories import Api, World


def test_the_page_has_the_picks_with_their_words_the_latest_first(world: World, api: Api, admin: Api) -> None:
    empty = api.get("/picked")
    assert empty.status_code == 200
    assert "The reviewers have picked nothing yet." in empty.text
    lamp, jar = world.project(title="Lamp"), world.project(title="Jar")
    world.project(title="Spoon")
    for project, words in ((lamp, "It <b>shines</b>."), (jar, "It holds.")):
        admin.put(f"/api/review/projects/{project}/pick", {"words": words})
    page = api.get("/picked").text
    assert "<h1>Picked</h1>" in page
    places = [page.index(text) for text in (">Jar<", "It holds.", ">Lamp<", "It &lt;b&gt;shines&lt;/b&gt;.")]
    assert places == sorted(places)
    assert "Spoon" not in page
    assert 'rel="canonical" href="/picked"' in page
    assert "projects.atom?picked=true" in page
    assert api.get("/picked?page=2").status_code == 404
    assert "It holds." in world.caller(world.user()).get("/picked").text
    assert "It holds." not in api.get("/").text
