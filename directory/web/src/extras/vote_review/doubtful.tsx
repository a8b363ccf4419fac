// The projects of whose recent votes more have signs of a vote ring than of all votes, on the dashboard.
import { api, ask, type Schemas } from "../../api/client.ts";
import { Top } from "../../console/top.tsx";
import { Resource } from "../../state/resource.ts";
import { onNewCaller, withSession } from "../../state/session.ts";
import { v } from "./text.ts";

const TOP = 10; // rows of a ranking
const found = new Resource<readonly Schemas["DoubtfulProject"][]>();
onNewCaller(() => found.clear());

export const doubtful = { load, view: Doubtful };

function load(): void {
  const many = { params: { query: { limit: 100 } } };
  void found.load("console doubtful votes", async (signal) => (await withSession(ask(api.GET("/api/admin/projects/doubtful", { ...many, signal })))).items);
}

function Doubtful() {
  const shown = found.data.value?.filter((each) => each.is_above).slice(0, TOP) ?? [];
  const rows = shown.map(({ id, title, doubtful: number }) => ({ key: id, name: <a href={`/admin/projects/${id}`} dir="auto">{title}</a>, number }));
  return rows.length > 0 && <Top title={v.doubtful} what={v.doubtfulVotes} rows={rows} />;
}
