// What the form of a project asks for: its fields, what is wrong with them, and how they become a project and come from one.
import type { Schemas } from "../api/client.ts";
import { f } from "../text.forms.ts";
import { type Draft, EMPTY, type Name } from "./draft.ts";
import { isAdministrator } from "./session.ts";
import { isAddress, isGit, tagsOf, withScheme } from "./tags.ts";

/** A field's label, its maximum of characters, whether it is required, and whether it is a URL. */
interface FieldRules {
  label: string;
  most?: number;
  needed?: true;
  link?: true;
}
/** The fields of the form, as the API takes them (a test compares the limits). A logo is sent by itself. */
export const FORM: Record<Name, FieldRules> = {
  url: { label: f.url, most: 2048, needed: true, link: true },
  title: { label: f.title, most: 100, needed: true },
  tagline: { label: f.tagline, most: 140, needed: true },
  category: { label: f.category, needed: true },
  tags: { label: f.tags },
  repository_url: { label: f.repository, most: 2048, link: true },
  description: { label: f.description, most: 10_000 },
};
const NAMES = Object.keys(EMPTY) as Name[]; // in this order, for drafts are compared as texts
const TAG = /^[a-z0-9]+(-[a-z0-9]+)*$/;
const MOST_TAGS = 5;

/** What is wrong with a draft, by field. */
export function check(given: Draft): Partial<Record<Name, string>> {
  const wrong: Partial<Record<Name, string>> = {};
  for (const name of NAMES) {
    const { most = Infinity, needed, link } = FORM[name];
    const text = given[name].trim();
    if (needed && !text) wrong[name] = f.required;
    else if ([...text].length > most) wrong[name] = f.tooLong(most);
    else if (link && text && !isAddress(text) && !(name === "repository_url" && isGit(text))) wrong[name] = f.urlWrong;
  }
  const tags = tagsOf(given.tags);
  if (tags.length > MOST_TAGS) wrong.tags = f.tagsMany;
  else if (!tags.every((tag) => TAG.test(tag))) wrong.tags = f.tagsWrong;
  return wrong;
}

/** A project as its owner wants it: with the changes that wait for review. Administrators edit what is shown: to save must not approve those. */
export function toDraft(project: Schemas["ProjectDetail"]): Draft {
  const wanted = { ...project, category: project.category.slug, ...(isAdministrator.value ? {} : project.revision?.changes) };
  return Object.fromEntries(NAMES.map((name) => [name, name === "tags" ? wanted.tags.join(", ") : wanted[name] ?? ""])) as Draft;
}

/** What is written as the API takes it. */
export function toBody(given: Draft): Schemas["ProjectInput"] {
  const { url, title, tagline, category, tags, ...optional } = given;
  const others = Object.entries(optional).map(([name, text]) => [name, written(name as Name, text)]);
  return {
    url: withScheme(url), title: title.trim(), tagline: tagline.trim(), category: category.trim(), tags: tagsOf(tags),
    ...Object.fromEntries(others),
  };
}

/** An optional field as the API takes it: a description as it stands, another one null where it is empty. */
function written(name: Name, text: string): string | null {
  if (name === "description") return text;
  return (FORM[name].link ? withScheme(text) : text.trim()) || null;
}
