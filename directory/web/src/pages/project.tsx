// One project: what it is, its vote, and what its owner can do.
import { signal } from "@preact/signals";
import { api, ask, Problem, type Schemas } from "../api/client.ts";
import { safeAddress } from "../parts/address.ts";
import { Markdown } from "../parts/markdown.tsx";
import { Monogram } from "../parts/monogram.tsx";
import { Owner } from "../parts/owner.tsx";
import { Rows, type Project } from "../parts/row.tsx";
import { Empty, Failed, Skeleton, Stale } from "../parts/states.tsx";
import { Code, Out } from "../parts/icons.tsx";
import { Time } from "../parts/time.tsx";
import { Timeline } from "../parts/timeline.tsx";
import { VoteButton } from "../parts/vote.tsx";
import { say } from "../state/notice.ts";
import { Resource } from "../state/resource.ts";
import { navigate, type Page } from "../state/router.ts";
import { learn, user } from "../state/session.ts";
import { note } from "../state/votes.ts";
import { t } from "../text.ts";

type Detail = Schemas["ProjectDetail"];

const shown = new Resource<Detail>();
const related = new Resource<readonly Project[]>();
const busy = signal(false);

export const project: Page = {
  enter: ([id]) => void enter(Number(id)),
  view: ProjectPage,
  title: () => shown.data.value?.title ?? "",
};

async function enter(id: number): Promise<void> {
  related.clear();
  await shown.load(`project ${id}`, async (signal) => {
    const began = performance.now();
    const found = await ask(api.GET("/api/projects/{project_id}", { params: { path: { project_id: id } }, signal }));
    note([found], began);
    return found;
  });
  const category = shown.data.peek()?.category.slug;
  if (category) {
    await related.load(`related ${id}`, async (signal) => {
      const query = { category, sort: "popular", limit: 5 } as const;
      const began = performance.now();
      const { items } = await ask(api.GET("/api/projects", { params: { query }, signal }));
      note(items, began);
      return items.filter((each) => each.id !== id).slice(0, 4);
    });
  }
}

function ProjectPage() {
  const found = shown.data.value;
  const problem = shown.problem.value;
  const again = () => void shown.again();
  if (problem?.status === 404) {
    return (
      <div class="wide"><Empty whole title={t.projectGone} why={t.projectGoneWhy}><a class="button" href="/">{t.toDirectory}</a></Empty></div>
    );
  }
  if (!found) return <div class="wide">{problem ? <Failed whole problem={problem} again={again} /> : <Skeleton rows={3} />}</div>;
  return (
    <article class="wide project" aria-busy={shown.busy.value}>
      {problem && <Stale problem={problem} again={again} />}
      <Banner project={found} />
      <header>
        <Monogram name={found.title} large />
        <div class="grow">
          <h1 dir="auto">{found.title}</h1>
          <p class="lead" dir="auto">{found.tagline}</p>
        </div>
      </header>
      <div class="columns turned">
        <div class="grow">
          {found.description ? <Markdown text={found.description} /> : <p class="muted">{t.noDescription}</p>}
          {isOwn(found) && <section class="section"><h2>{t.history}</h2><Timeline id={found.id} /></section>}
        </div>
        <Facts project={found} />
      </div>
      <Related category={found.category.name} />
    </article>
  );
}

function isOwn(project: Detail): boolean {
  return user.value !== null && (project.owner.id === user.value.id || user.value.is_admin);
}

/** For its owner: where the project stands, why, and what to do. */
function Banner({ project: { status, rejection_reason, queue_position, id } }: { project: Detail }) {
  if (status === "live") return null;
  const pending = status === "pending";
  return (
    <section class={`banner ${status}`}>
      <div class="grow">
        <h2><span class={`badge ${status}`}>{t.states[status]}</span> {pending ? t.pendingTitle : t.rejectedTitle}</h2>
        {pending ? <p>{t.pendingWhy(queue_position ?? null)}</p> : !rejection_reason && <p>{t.rejectedWhy}</p>}
        {rejection_reason && <p class="reason" dir="auto"><strong>{t.reason}:</strong> {rejection_reason}</p>}
      </div>
      <a class="button" href={`/submit?project=${id}`}>{pending ? t.edit : t.editAgain}</a>
    </section>
  );
}

function Facts({ project }: { project: Detail }) {
  const { url, repository_url, category, tags, owner, published_at, created_at } = project;
  return (
    <aside class="facts" aria-label={t.details}>
      {project.status === "live" && <VoteButton project={project} wide />}
      <Address url={url} label={t.visit} Icon={Out} />
      {repository_url && <Address url={repository_url} label={t.source} Icon={Code} />}
      <dl>
        <dt>{t.category}</dt><dd><a href={`/?category=${category.slug}`}>{category.name}</a></dd>
        {tags.length > 0 && <><dt>{t.tags}</dt><dd class="chips">{tags.map((tag) => <a class="tag" key={tag} href={`/?tag=${tag}`} rel="nofollow">{tag}</a>)}</dd></>}
        <dt>{t.submittedBy}</dt><dd><Owner name={owner.username} /></dd>
        <dt>{published_at ? t.published : t.submitted}</dt><dd><Time at={published_at ?? created_at} /></dd>
      </dl>
      {isOwn(project) && <OwnerActions project={project} />}
    </aside>
  );
}

/** A link to another site, with the host that it leads to. */
function Address({ url, label, Icon }: { url: string; label: string; Icon: () => any }) {
  const href = safeAddress(url);
  if (!href) return <p class="small">{url}</p>;
  return (
    <a class="outward" href={href} rel="nofollow ugc noopener">
      <Icon /><span><strong>{label}</strong><span class="small muted">{new URL(href).host}</span></span>
    </a>
  );
}

function OwnerActions({ project }: { project: Detail }) {
  return (
    <p class="actions">
      <a class="button small" href={`/submit?project=${project.id}`}>{t.edit}</a>
      <button type="button" class="button small danger" disabled={busy.value} onClick={() => void remove(project)}>{t.remove}</button>
    </p>
  );
}

async function remove({ id, title }: Detail): Promise<void> {
  if (!confirm(t.removeSure(title))) return;
  busy.value = true;
  try {
    await ask(api.DELETE("/api/projects/{project_id}", { params: { path: { project_id: id } } }));
    say(t.removed(title));
    navigate("/mine");
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    learn(error);
    say(`${error.title}. ${error.detail}`, { bad: true });
  } finally {
    busy.value = false;
  }
}

function Related({ category }: { category: string }) {
  const projects = related.data.value;
  if (!projects?.length) return null;
  return <section class="section"><h2>{t.moreIn(category)}</h2><Rows projects={projects} level="h3" /></section>;
}
