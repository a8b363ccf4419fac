// The categories: add, change, delete.
import { api, ask, type Schemas } from "../api/client.ts";
import { say } from "../state/notice.ts";
import type { Page } from "../state/router.ts";
import { readOnly } from "../state/session.ts";
import { ask as question, type DialogField } from "./dialog-state.ts";
import { Frame } from "./frame.tsx";
import { Listing } from "./listing.ts";
import { changing, Listed, type Column } from "./table.tsx";
import { w } from "./text.ts";

type Category = Schemas["Category"];
const list = new Listing<Category>("categories", [{ name: "q" }, { name: "sort", values: ["name", "projects"] }], async ({ q = "", sort }, signal) => {
  const { items } = await ask(api.GET("/api/categories", { signal }));
  return { items: ordered(items.filter((each) => matches(each, q)), sort ?? "") };
});
const columns: Column<Category>[] = [
  { name: w.name, kind: "wrap head", sort: { ascending: "name" }, text: (each) => each.name, cell: (each) => <a href={`/categories/${each.slug}`}>{each.name}</a> },
  { name: w.slug, kind: "wrap", text: (each) => each.slug },
  { name: w.description, kind: "wrap unlabelled", text: (each) => each.description, cell: (each) => each.description },
  { name: w.live, kind: "number", sort: { descending: "projects" }, text: (each) => each.live_projects },
  changing(change, remove),
];

export const categories: Page = { enter: (_match, query) => list.enter(query), view: CategoriesPage, title: () => w.pages["/admin/categories"] };

function CategoriesPage() {
  return (
    <Frame title={w.pages["/admin/categories"]}>
      <Listed listing={list} columns={columns} keyOf={(each) => each.slug} none={w.categoriesNone}>
        <button type="button" class="button small primary" disabled={readOnly.value} onClick={add}>{w.addCategory}</button>
      </Listed>
    </Frame>
  );
}

function matches({ name, slug, description }: Category, q: string): boolean {
  return `${name} ${slug} ${description}`.toLocaleLowerCase().includes(q.toLocaleLowerCase());
}

/** The API gives the categories by name. */
function ordered(items: readonly Category[], sort: string): readonly Category[] {
  return sort === "projects" ? [...items].sort((one, other) => other.live_projects - one.live_projects) : items;
}

function fields(category?: Category): DialogField[] {
  return [
    { name: "name", label: w.name, value: category?.name },
    { name: "slug", label: w.slug, value: category?.slug, hint: w.slugHint },
    { name: "description", label: w.description, value: category?.description, kind: "text", optional: true },
  ];
}

function bodyOf({ name = "", slug = "", description = "" }: Record<string, string>): Schemas["CategoryInput"] {
  return { name: name.trim(), slug: slug.trim(), description };
}

function add(): void {
  question({
    title: w.addCategory, action: w.add, fields: fields(),
    act: async (given) => {
      const added = await ask(api.POST("/api/admin/categories", { body: bodyOf(given) }));
      say(w.added(added.name));
      void list.again();
    },
  });
}

function change(category: Category): void {
  question({
    title: w.changeOf(category.name), action: w.save, fields: fields(category),
    act: async (given) => {
      const changed = await ask(api.PUT("/api/admin/categories/{slug}", { params: { path: { slug: category.slug } }, body: bodyOf(given) }));
      say(w.changed(changed.name));
      void list.again();
    },
  });
}

function remove({ slug, name, live_projects }: Category): void {
  question({
    title: w.deleteOf(name), text: w.deleteWhy(live_projects), action: w.delete, danger: true,
    act: async () => {
      await ask(api.DELETE("/api/admin/categories/{slug}", { params: { path: { slug } } }));
      say(w.deleted(name));
      void list.again();
    },
  });
}
