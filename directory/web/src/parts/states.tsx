// What a page shows while it has nothing to show: loading, empty, failed.
import type { ComponentChildren } from "preact";
import type { Problem } from "../api/client.ts";
import { t } from "../text.ts";

interface EmptyProps {
  title: string;
  why: string;
  /** Whether it is all that the page shows, and so has the page's heading. */
  whole?: boolean;
  children?: ComponentChildren;
}

/** Why there is nothing, and one way out. */
export function Empty({ title, why, whole = false, children }: EmptyProps) {
  const Heading = whole ? "h1" : "h2";
  return (
    <div class="state">
      <Heading>{title}</Heading>
      <p>{why}</p>
      {children}
    </div>
  );
}

/** What failed, and another try. */
export function Failed({ problem, again, whole = false }: { problem: Problem; again: () => void; whole?: boolean }) {
  const Heading = whole ? "h1" : "h2";
  return (
    <div class="state failed" role="alert">
      <Heading>{problem.title}</Heading>
      <p>{problem.detail}</p>
      <button type="button" class="button" onClick={again}>{t.tryAgain}</button>
      {problem.requestId && <p class="small muted">{t.requestId(problem.requestId)}</p>}
    </div>
  );
}

/** One line above what is shown already. */
export function Stale({ problem, again }: { problem: Problem; again: () => void }) {
  return (
    <div class="banner bad" role="alert">
      <p><strong>{problem.title}.</strong> {problem.detail} {t.outdated}</p>
      <button type="button" class="button small" onClick={again}>{t.tryAgain}</button>
    </div>
  );
}

/** Rows that stand where the first ones will. */
export function Skeleton({ rows = 6 }: { rows?: number }) {
  return (
    <div class="rows" aria-busy="true" aria-label={t.loading} role="status">
      {Array.from({ length: rows }, (_, place) => (
        <div class="row skeleton" key={place} aria-hidden="true">
          <span class="monogram" />
          <div class="grow"><span class="line" /><span class="line long" /><span class="line short" /></div>
          <span class="vote" />
        </div>
      ))}
    </div>
  );
}
