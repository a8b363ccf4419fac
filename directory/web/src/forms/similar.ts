// "Is it here already?", while one writes: projects of the same address or repository, and those with a similar title.
import { dataOf, find, speaking } from "../reading/page.ts";
import { icon } from "../reading/theme.ts";
import { labelOf } from "../reading/vote.ts";
import { language, numeral, word } from "../reading/words.ts";
import { button, element, fieldOf, projectForm, withScheme } from "./project.ts";

interface Known {
  id: number;
  slug: string;
  title: string;
  tagline: string;
  status: string;
  upvotes: number;
  has_upvoted: boolean;
  created_at?: string; // of the member's own
}
type Found = Record<string, Known[] | undefined>;

const PAUSE = 400; // milliseconds without a key
const STATES: Record<string, string> = { pending: "In review", rejected: "Rejected" };
const KINDS: [string, string, string][] = [
  ["same", "It is here already", "You can vote for it instead of submitting it again."],
  ["same_repository", "A project with this repository is here already", "It may be the same project under another address."],
  ["similar", "Similar projects", ""],
];
let timer: ReturnType<typeof setTimeout> | undefined;
let asked = "";

export function startSimilar(): void {
  const form = projectForm();
  const place = find("[data-similar]");
  if (form?.dataset.project !== "new" || !place) return;
  form.addEventListener("input", (event) => {
    clearTimeout(timer);
    if (!(event as InputEvent).isComposing) timer = setTimeout(() => void look(form, place), PAUSE);
  });
  if (find(".found")) asked = questionOf(form); // the page itself shows them
  else void look(form, place);
}

async function look(form: HTMLFormElement, place: HTMLElement): Promise<void> {
  const query = questionOf(form);
  if (query === asked) return;
  asked = query;
  let found: Found = {};
  try {
    if (query) found = await dataOf(await fetch(`/api/projects/check?${query}`, { headers: speaking() }));
  } catch {
    // It is asked again when the form is sent.
  }
  if (query === asked) show(place, found);
}

function questionOf(form: HTMLFormElement): string {
  const query = new URLSearchParams();
  for (const name of ["url", "repository_url"]) {
    const address = withScheme(fieldOf(form, name).value);
    if (/^https?:\/\/[^\s/]+/i.test(address) && URL.canParse(address)) query.set(name, address);
  }
  const title = fieldOf(form, "title").value.trim().slice(0, 100);
  if (title.length > 2) query.set("title", title);
  return query.toString();
}

function show(place: HTMLElement, found: Found): void {
  place.replaceChildren();
  for (const [kind, title, why] of KINDS) {
    if (!found[kind]?.length) continue;
    const isExplained = why && found[kind].some((project) => !project.created_at);
    place.append(element("h2", "", word(title)), ...(isExplained ? [element("p", "", word(why))] : []), ...found[kind].map(rowOf));
  }
  place.hidden = !place.firstChild;
}

function rowOf(project: Known): HTMLElement {
  const { id, slug, title, tagline, status, created_at: sent } = project;
  const [row, text, name] = [element("article", "row short"), element("div", "grow"), element("h3")];
  const link = element("a", "", title);
  link.href = `/p/${id}/${slug}`;
  name.append(link);
  name.dir = "auto";
  text.append(name, element("p", "tagline", tagline), ...(sent ? [sentOn(sent, id)] : []), ...(STATES[status] ? [element("span", `badge ${status}`, word(STATES[status]))] : []));
  row.append(text, ...(status === "live" && !sent ? [voteOf(project)] : []));
  return row;
}

/** When a member has submitted it, with a link to it. */
function sentOn(at: string, id: number): HTMLElement {
  const day = new Intl.DateTimeFormat(language(), { dateStyle: "medium", timeZone: "UTC" }).format(new Date(at));
  const [before = "", name = "", after = ""] = word("You sent this on {day}: {link}open it{end}.", { day }).split(/\{(?:link|end)\}/);
  const [line, link] = [element("p"), element("a", "", name)];
  link.href = `/mine/${id}`;
  line.append(before, link, after);
  return line;
}

/** A button as the lists have it: the module of votes hears it. */
function voteOf({ id, title, upvotes, has_upvoted: isSet }: Known): HTMLElement {
  const vote = button("vote", "", () => {});
  vote.dataset.vote = String(id);
  vote.ariaPressed = String(isSet);
  vote.ariaLabel = labelOf(title, upvotes);
  vote.append(icon("up"), element("span", "word unseen", `${word(isSet ? "Voted" : "Upvote")} `), element("span", "count", numeral(upvotes)));
  return vote;
}
