// All users, with what they have submitted and voted.
import { api, ask, type Schemas } from "../api/client.ts";
import { day, Time } from "../parts/time.tsx";
import { DAY } from "../state/filtering.ts";
import type { Page } from "../state/router.ts";
import { Frame } from "./frame.tsx";
import { Listing, type Query } from "./listing.ts";
import { Listed, type Column } from "./table.tsx";
import { w } from "./text.ts";
import { FoundUsers, SelectedUsers } from "./users-bulk.tsx";

type User = Schemas["UserDetail"];
const yesNo = { true: w.yes, false: w.no };
const list = new Listing<User>(
  "users",
  [
    { name: "q" },
    { name: "role", values: ["member", "reviewer", "admin"] },
    { name: "status", values: ["active", "suspended"] },
    { name: "created_from", isDay: true, pattern: DAY },
    { name: "created_to", isDay: true, pattern: DAY },
    { name: "email_domain", pattern: /^[^\s@.]+([.。．｡][^\s@.]+)+$/ },
    { name: "email_verified", values: ["true", "false"], named: yesNo },
    { name: "live", values: ["true", "false"], named: yesNo },
    { name: "sort", values: ["newest", "username", "submissions", "last_seen"] },
  ],
  (wanted, signal) => ask(api.GET("/api/admin/users", { params: { query: { limit: 50, ...wanted } as Query<"/api/admin/users"> }, signal })),
);
const columns: Column<User>[] = [
  { name: w.number, kind: "file", text: (each) => each.id },
  {
    name: w.username, kind: "wrap head", sort: { ascending: "username" },
    text: (each) => each.username, cell: (each) => <a href={`/admin/users/${each.id}`}>{each.username}</a>,
  },
  { name: w.email, kind: "wrap", text: (each) => each.email },
  { name: w.role, text: (each) => w.values[each.role] ?? each.role },
  { name: w.status, text: (each) => each.status, cell: (each) => <span class={`badge ${each.status}`}>{w.values[each.status]}</span> },
  { name: w.pages["/admin/projects"], kind: "number", text: (each) => each.stats.projects.total, sort: { descending: "submissions" } },
  { name: w.live, kind: "number minor", text: (each) => each.stats.projects.live },
  { name: w.pending, kind: "number minor", text: (each) => each.stats.projects.pending },
  { name: w.rejected, kind: "number minor", text: (each) => each.stats.projects.rejected },
  { name: w.given, kind: "file", text: (each) => each.stats.upvotes_given },
  { name: w.received, kind: "number minor", text: (each) => each.stats.upvotes_received },
  { name: w.since, kind: "minor", text: (each) => each.created_at, sort: { descending: "newest" }, cell: (each) => <time dateTime={each.created_at}>{day(each.created_at)}</time> },
  {
    name: w.seen, text: (each) => each.last_seen_at, sort: { descending: "last_seen" },
    cell: (each) => (each.last_seen_at ? <Time at={each.last_seen_at} /> : w.never),
  },
];

const selecting = {
  nameOf: (each: User) => each.username,
  actions: (rows: readonly User[]) => <SelectedUsers list={list} rows={rows} />,
};

export const users: Page = {
  enter: (_match, query) => list.enter(query),
  view: () => (
    <Frame title={w.pages["/admin/users"]}>
      <Listed listing={list} columns={columns} keyOf={(each) => each.id} none={w.usersNone} selecting={selecting}><FoundUsers list={list} /></Listed>
    </Frame>
  ),
  title: () => w.pages["/admin/users"],
};
