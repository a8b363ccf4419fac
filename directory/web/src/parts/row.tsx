import type { Schemas } from "../api/client.ts";
import { Monogram } from "./monogram.tsx";
import { Time } from "./time.tsx";
import { VoteButton } from "./vote.tsx";

export type Project = Schemas["ProjectDetail"];

/** The address of a project's page. */
export function pathOf(project: { id: number; slug: string }): string {
  return `/p/${project.id}/${project.slug}`;
}

/** A live project in a list; its heading is of the level that the page needs there. */
export function ProjectRow({ project, level: Heading }: { project: Project; level: "h2" | "h3" }) {
  const { title, tagline, category, tags, owner } = project;
  return (
    <article class="row">
      <Monogram name={title} logo={project.logo} />
      <div class="grow">
        <Heading dir="auto"><a class="cover" href={pathOf(project)}>{title}</a></Heading>
        <p class="tagline" dir="auto">{tagline}</p>
        <p class="meta">
          <a href={`/categories/${category.slug}`}>{category.name}</a>
          {tags.slice(0, 3).map((tag) => <a class="tag" key={tag} href={`/tags/${tag}`}>{tag}</a>)}
          <span>{owner.username}</span>
          <Time at={project.published_at ?? project.created_at} />
        </p>
      </div>
      <VoteButton project={project} />
    </article>
  );
}

interface RowsProps {
  projects: readonly Project[];
  busy?: boolean;
  level?: "h2" | "h3";
}

export function Rows({ projects, busy = false, level = "h2" }: RowsProps) {
  return (
    <div class="rows" aria-busy={busy}>
      {projects.map((project) => <ProjectRow key={project.id} project={project} level={level} />)}
    </div>
  );
}
