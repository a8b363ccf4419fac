import pytest
def test_smoke(world, api, statements):
    admin=world.caller(world.admin("root1")); bob=world.user("bob"); b=world.caller(bob)
    world.category("tools")
    r=b.post("/api/projects", {"title":"My Ünique tool","tagline":"x","url":"https://Example.com/a","category":"tools","tags":["cli","web"]})
    print(r.status_code, r.json, dict(r.headers)); assert r.status_code==201
    pid=r.json["id"]
    assert api.get(f"/api/projects/{pid}").status_code==404
    r=admin.put(f"/api/admin/projects/{pid}/approve"); print(r.json); assert r.status_code==200, r.json
    r=b.post(f"/api/projects/{pid}/upvote"); print(r.json, dict(r.headers)); assert r.status_code==200
    statements.clear()
    r=api.get("/api/projects"); print(r.json, dict(r.headers)); assert r.status_code==200
    print("\n".join(statements)); assert len(statements)<=2
    statements.clear()
    r=b.get("/api/projects?sort=popular&category=tools"); assert r.json["items"][0]["has_upvoted"] is True
    assert len(statements)<=3
    for q in ("unique","uniq","cli","nothing"):
        r=api.get(f"/api/projects?q={q}"); print(q, r.json["pagination"]["total"] if r.status_code==200 else r.json)
    r=b.put(f"/api/projects/{pid}", {"title":"New"}); assert r.status_code==200 and r.json["status"]=="pending"; print(r.json)
    r=admin.get("/api/admin/projects?status=pending"); assert r.json["pagination"]["total"]==1
    r=admin.put(f"/api/admin/projects/{pid}/reject", {"reason":"no"}); assert r.json["rejection_reason"]=="no"
    r=admin.put(f"/api/admin/projects/{pid}/approve"); assert r.status_code==409; print(r.json)
    r=admin.get(f"/api/admin/projects/{pid}/history"); print(r.json); assert len(r.json["items"])==4
    r=admin.get("/api/admin/users"); print(r.json); assert r.status_code==200
    r=admin.get("/api/admin/analytics?days=2"); print(r.json); assert r.status_code==200
    r=b.delete(f"/api/projects/{pid}"); assert r.status_code==204
    r=admin.get("/api/admin/audit?limit=2"); assert r.status_code==200
    r=admin.get("/api/admin/audit?limit=2&cursor="+r.json["pagination"]["next_cursor"]); assert r.status_code==200, r.json
    r=admin.post("/api/admin/categories", {"slug":"x","name":"X"}); assert r.status_code==201
    r=admin.delete("/api/admin/categories/x"); assert r.status_code==204
    r=api.post("/api/auth/register", {"username":"carol","email":"c@example.org","password":"correct horse"}); print(r.status_code,r.json, r.headers)
    assert r.status_code==201
    r=api.post("/api/auth/login", {"login":"carol","password":"correct horse"}); assert r.status_code==200, r.json
    r=api.post("/api/auth/login", {"login":"carol","password":"wrong"}); assert r.status_code==401, r.json
    assert api.get("/nope").json["code"]=="not_found"
    assert api.call("PATCH","/api/projects").json["code"]=="method_not_allowed"
