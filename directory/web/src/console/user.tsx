// One user: what they have done, and what an administrator can do about it.
import type { ComponentChildren } from "preact";
import { api, ask, type Schemas } from "../api/client.ts";
import { Empty, Failed, Skeleton, Stale } from "../parts/states.tsx";
import { day, Time } from "../parts/time.tsx";
import { categories, loadCategories } from "../state/categories.ts";
import { say } from "../state/notice.ts";
import { Resource } from "../state/resource.ts";
import type { Page } from "../state/router.ts";
import { afterSession, isAdministrator, onNewCaller, readOnly, user as caller, withSession } from "../state/session.ts";
import { t } from "../text.ts";
import { ask as question, type Question } from "./dialog-state.ts";
import { d } from "./deletion-text.ts";
import { Entries } from "./entries.tsx";
import { Frame } from "./frame.tsx";
import { w } from "./text.ts";
import { u } from "./users-text.ts";

type User = Schemas["UserProfile"];
type Changes = Schemas["UserChanges"];
const ROLES: readonly User["role"][] = ["member", "reviewer", "admin"];
const EVERY = "*"; // in place of a category: all of them
const shown = new Resource<User>();
onNewCaller(() => shown.clear());

export const user: Page = { enter: ([id = ""]) => enter(Number(id)), view: UserPage, title: () => shown.data.value?.username ?? "" };

function enter(id: number): void {
  if (!categories.data.peek()) loadCategories();
  const path = { user_id: id };
  afterSession(() => isAdministrator.peek()
    && void shown.load(`console user ${id}`, (signal) => withSession(ask(api.GET("/api/admin/users/{user_id}", { params: { path }, signal })))));
}

function UserPage() {
  const found = shown.data.value;
  return <Frame title={found?.username ?? w.pages["/admin/users"]}><Content found={found} /></Frame>;
}

function Content({ found }: { found: User | undefined }) {
  const problem = shown.problem.value;
  const again = () => void shown.again();
  if (problem?.status === 404) return <Empty title={w.userGone} why={w.userGoneWhy}><a class="button" href="/admin/users">{w.toUsers}</a></Empty>;
  if (!found) return problem ? <Failed problem={problem} again={again} /> : <Skeleton rows={3} />;
  return (
    <div aria-busy={shown.busy.value}>
      {problem && <Stale problem={problem} again={again} />}
      <Facts user={found} />
      <Actions user={found} />
      <section class="section">
        <h2>{w.latest}</h2>
        {found.audit.length ? <Entries entries={found.audit} /> : <p class="muted">{w.noEntries}</p>}
        <p class="acts"><a href={`/admin/audit?user_id=${found.id}`}>{w.theirLog}</a></p>
      </section>
    </div>
  );
}

function Facts({ user }: { user: User }) {
  const { projects, upvotes_given, upvotes_received, last_submission_at } = user.stats;
  const facts: [string, ComponentChildren][] = [
    [w.status, <span class={`badge ${user.status}`}>{w.values[user.status]}</span>],
    [w.role, user.role_source === "local" ? roleOf(user) : u.fromProvider(roleOf(user), user.role_source)],
    user.deleted_at ? [w.deletedOn, day(user.deleted_at)] : [w.email, user.email],
    [w.since, day(user.created_at)],
    [w.seen, user.last_seen_at ? <Time at={user.last_seen_at} /> : w.never],
    [w.submittedAt, last_submission_at ? <Time at={last_submission_at} /> : w.never],
    [u.storedToday, u.kilobytes(user.stored_today.bytes, user.stored_today.most)],
  ];
  const numbers: [string, number][] = [
    [w.live, projects.live], [w.pending, projects.pending], [w.rejected, projects.rejected], [w.given, upvotes_given], [w.received, upvotes_received],
  ];
  return (
    <>
      <dl class="about">{facts.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>
      <dl class="figures">{numbers.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{t.number(value)}</dd></div>)}</dl>
    </>
  );
}

function Actions({ user }: { user: User }) {
  const { username, status, stats: { projects } } = user;
  const isSuspended = status === "suspended";
  const hasProjects = projects.live + projects.pending > 0;
  const takingDown: [string, () => Question][] = isSuspended && hasProjects ? [[w.takeDownRest, () => suspending(user)]] : [];
  // A deleted account stays as it is; only its projects can be taken down.
  const asked: [string, () => Question][] = user.deleted_at ? takingDown : [
    isSuspended ? [w.restore, () => restoring(user)] : [w.suspend, () => suspending(user)],
    ...takingDown,
    [w.signOut, () => signingOut(user)],
    [u.role, () => changingRole(user)],
    [d.name, () => deleting(user)],
  ];
  return (
    <p class="actions">
      {asked.map(([name, ask]) => <button key={name} type="button" class="button" disabled={readOnly.value} onClick={() => question(ask())}>{name}</button>)}
      <a href={`/admin/projects?owner=${username}`}>{w.theirProjects}</a>
      {!isSuspended && <a href={`/users/${username}`}>{w.publicPage}</a>}
      {caller.value?.id === user.id && <span class="muted">{w.you}</span>}
    </p>
  );
}

/** Suspend, and take down where it is chosen. Of a user that is suspended already it takes down what is left. */
export function suspending({ id, username, status, stats: { projects: { live, pending }, upvotes_given } }: User): Question {
  const isSuspended = status === "suspended";
  return {
    title: isSuspended ? w.takeDownRestOf(username) : w.suspendOf(username),
    text: isSuspended ? undefined : w.suspendWhy(upvotes_given),
    action: isSuspended ? w.takeDown : w.suspendDo,
    danger: true,
    fields: [
      ...(live + pending ? [{ name: "unpublish", kind: "check", label: w.unpublish(live, pending), value: isSuspended ? "yes" : "" } as const] : []),
      { name: "reason", kind: "text", label: w.reason, hint: w.reasonHint, optional: true },
    ],
    act: async ({ unpublish, reason = "" }) => {
      const { taken_down } = await change(id, {
        status: "suspended", ...(unpublish === "yes" && { unpublish: true }), ...(reason.trim() && { reason }),
      });
      say(w.suspended(username, taken_down));
    },
  };
}

function restoring(user: User): Question {
  const { username } = user;
  return changing(user, { status: "active" }, [w.restoreOf(username), w.restoreWhy, w.restoreDo, w.restored(username)]);
}

function changing({ id }: User, changes: Changes, [title, text, action, done]: [string, string, string, string]): Question {
  return {
    title, text, action,
    act: async () => {
      await change(id, changes);
      say(done);
    },
  };
}

function roleOf({ role, review_categories }: User): string {
  return role === "reviewer" ? u.reviewerOf(review_categories?.map(nameOf)) : w.values[role] ?? role;
}

function nameOf(slug: string): string {
  return categories.data.value?.find((each) => each.slug === slug)?.name ?? slug;
}

/** Choose the role, and for a reviewer the categories. */
function changingRole({ id, username, role, review_categories }: User): Question {
  const known = (categories.data.value ?? []).map((each) => [each.slug, each.name] as const);
  return {
    title: u.roleOf(username), text: u.roleWhy, action: u.roleDo,
    fields: [
      { name: "role", kind: "choice", label: w.role, value: role, options: ROLES.map((each) => [each, w.values[each] ?? each]) },
      { name: "review_categories", kind: "many", label: u.categories, value: review_categories?.join(",") ?? EVERY, options: [[EVERY, u.every], ...known] },
    ],
    act: async (given) => {
      const chosen = (given.review_categories ?? "").split(",").filter(Boolean);
      const reviews = given.role === "reviewer" && { review_categories: chosen.includes(EVERY) ? null : chosen };
      await change(id, { role: given.role as User["role"], ...reviews });
      say(u.roleChanged(username, w.values[given.role ?? ""] ?? ""));
    },
  };
}

function signingOut({ id, username }: User): Question {
  return {
    title: w.signOutOf(username), text: w.signOutWhy, action: w.signOutDo,
    act: async () => {
      await ask(api.DELETE("/api/admin/users/{user_id}/sessions", { params: { path: { user_id: id } } }));
      say(w.signedOut(username));
      void shown.again();
    },
  };
}

function deleting({ id, username }: User): Question {
  return {
    title: d.title(username), text: d.why, action: d.action, danger: true,
    fields: [{ name: "reason", kind: "text", label: w.reason, hint: d.reasonHint, optional: true }],
    act: async ({ reason = "" }) => {
      const body = reason.trim() ? { reason } : {};
      await ask(api.DELETE("/api/admin/users/{user_id}", { params: { path: { user_id: id } }, body }));
      say(d.done(username));
      void shown.again();
    },
  };
}

async function change(id: number, body: Changes): Promise<Schemas["UserChanged"]> {
  const changed = await ask(api.PUT("/api/admin/users/{user_id}", { params: { path: { user_id: id } }, body }));
  void shown.again();
  return changed;
}
