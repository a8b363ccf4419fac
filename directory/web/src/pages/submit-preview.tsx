// How a project will look in lists, while its form is filled in.
import { type Logo, Monogram } from "../parts/monogram.tsx";
import { categories } from "../state/categories.ts";
import type { Draft } from "../state/draft.ts";
import { logo, logoPicture } from "../state/logo.ts";
import { isAdministrator, user } from "../state/session.ts";
import { edited } from "../state/submission.ts";
import { tagsOf } from "../state/tags.ts";
import { f } from "../text.forms.ts";

/** The logo that the project has, or will have once its changes are approved, unless another was chosen. */
export function savedLogo(): Logo {
  const project = edited.data.value?.project;
  const held = isAdministrator.value ? undefined : project?.revision?.changes.logo;
  return logo.value || !project ? null : held === undefined ? project.logo : held;
}

export function Preview({ given }: { given: Draft }) {
  const category = categories.data.value?.find((each) => each.slug === given.category)?.name;
  const chosen = logo.value && logo.value !== "remove" ? logoPicture.value : "";
  return (
    <article class="row">
      <Monogram name={given.title.trim() || f.untitled} logo={chosen ? { 64: chosen, 256: chosen } : savedLogo()} />
      <div class="grow">
        <h3 dir="auto">{given.title.trim() || f.untitled}</h3>
        <p class="tagline" dir="auto">{given.tagline.trim() || f.noTagline}</p>
        <p class="meta">
          {category && <span>{category}</span>}
          {tagsOf(given.tags).slice(0, 3).map((tag) => <span class="tag" key={tag}>{tag}</span>)}
          {user.value && <span>{user.value.username}</span>}
        </p>
      </div>
    </article>
  );
}
