// A ranking on the dashboard.
import type { ComponentChildren } from "preact";
import { t } from "../text.ts";
import { w } from "./text.ts";

interface Ranked {
  key: string | number;
  name: ComponentChildren;
  number: number;
}

/** A table whose numbers are bars too. */
export function Top({ title, what, rows }: { title: string; what: string; rows: readonly Ranked[] }) {
  const most = Math.max(1, ...rows.map((each) => each.number));
  return (
    <section class="section">
      <h2>{title}</h2>
      {rows.length === 0 ? <p class="muted">{w.noTop}</p> : (
        <table class="top-list">
          <thead class="unseen"><tr><th scope="col">{w.name}</th><th scope="col">{what}</th></tr></thead>
          <tbody>
            {rows.map(({ key, name, number }) => (
              <tr key={key}>
                <th scope="row">
                  {name}
                  <svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true"><rect class="bar upvotes" width={(100 * number) / most} height="4" /></svg>
                </th>
                <td>{t.number(number)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
