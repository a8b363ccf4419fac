// What a new directory needs, as boxes to tick, until the first project is live.
import { api, ask } from "../api/client.ts";
import { categories } from "../state/categories.ts";
import { Resource } from "../state/resource.ts";
import { onNewCaller, session, withSession } from "../state/session.ts";

const DEFAULT_NAME = "Project Directory";
const reviewers = new Resource<number>(true);
onNewCaller(() => reviewers.clear());

export function loadFirstStart(): void {
  void reviewers.load("console reviewers", async (signal) => {
    const some = await Promise.all((["admin", "reviewer"] as const).map((role) =>
      withSession(ask(api.GET("/api/admin/users", { params: { query: { role, limit: 2 } }, signal })))));
    return some.reduce((sum, { items }) => sum + items.length, 0);
  });
}

/** `mailed` is whether mail is sent; null as long as it is not known. */
export function FirstStart({ mailed }: { mailed: boolean | null }) {
  if (mailed === null || !categories.data.value || reviewers.data.value === undefined) return null;
  const hasImprint = Boolean(document.querySelector('meta[name="own-links"]'));
  const steps: [done: boolean, name: string, path?: string][] = [
    [categories.data.value.length > 0, "Add a category: without one nothing can be submitted.", "/admin/categories"],
    [session.value?.site.name !== DEFAULT_NAME, "Give the directory a name (SITE_NAME)."],
    [hasImprint, "Say who runs it: a page of your own (SITE_DIR) or a link (SITE_LINKS)."],
    [mailed, "Send mail (MAIL_URL and MAIL_FROM), so that owners learn of decisions."],
    [reviewers.data.value > 1, "Have a second reviewer: give somebody the role.", "/admin/users"],
  ];
  return (
    <section class="section first-start">
      <h2>Before the first project is live</h2>
      <ul>
        {steps.map(([done, name, path]) => (
          <li key={name}>
            <label class="check"><input type="checkbox" checked={done} disabled /><span>{path && !done ? <a href={path}>{name}</a> : name}</span></label>
          </li>
        ))}
      </ul>
    </section>
  );
}
