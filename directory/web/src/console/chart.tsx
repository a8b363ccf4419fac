// A chart of days: bars, their scale, the day under the pointer, and the same as a table.
import { signal } from "@preact/signals";
import { Fragment } from "preact";
import type { Schemas } from "../api/client.ts";
import { t } from "../text.ts";
import { barsOf, ceilingOf, cutOff, dayAt, HEIGHT } from "./chart.ts";
import { csvOf, download, fileName } from "./csv.ts";
import { w } from "./text.ts";

type Day = Schemas["Day"];
type Counted = Exclude<keyof Day, "date">;
type Figures = Pick<Schemas["Analytics"], "series" | "previous">;

/** What one chart shows: parts on top of each other. Those of imports have no say in the scale. */
export interface Panel {
  name: string;
  parts: readonly Counted[];
  imports?: boolean;
}

const pointed = signal<{ panel: string; day: number } | null>(null);
const unfolded = signal<Record<string, boolean>>({}); // the tables that are open

/** Charts side by side, and one table of all that they show. */
export function Charts({ title, panels, figures }: { title: string; panels: readonly Panel[]; figures: Figures }) {
  const parts = panels.flatMap((panel) => [...panel.parts, ...(panel.imports ? ["imported" as const] : [])]);
  return (
    <section class="section">
      <h2>{title}</h2>
      <div class="charts">{panels.map((each) => <Chart key={each.name} panel={each} figures={figures} />)}</div>
      <details class="as-table" onToggle={(event) => (unfolded.value = { ...unfolded.value, [title]: event.currentTarget.open })}>
        <summary>{w.asTable}<span class="unseen">: {title}</span></summary>
        {unfolded.value[title] && <DayTable title={title} parts={parts} series={figures.series} />}
      </details>
    </section>
  );
}

function Chart({ panel, figures: { series, previous } }: { panel: Panel; figures: Figures }) {
  const { name, parts, imports } = panel;
  const totals = series.map((day) => sum(parts, day));
  const now = totals.reduce((one, other) => one + other, 0);
  const hasImports = imports && series.some((day) => day.imported);
  const ceiling = ceilingOf(hasImports ? totals.map((total) => (4 * total) / 3) : totals); // so that imports show above the most
  const under = pointed.value?.panel === name ? series[pointed.value.day] : undefined;
  const shown = hasImports ? [...parts, "imported" as const] : parts;
  return (
    <figure class="chart">
      <figcaption>
        <span class="muted">{name}</span>
        <strong>{t.number(now)}</strong>
        <span class="small muted">{under ? w.at(w.day(under.date), shown.map((part) => [w.series[part], under[part]])) : w.before(sum(parts, previous), now, series.length)}</span>
        {shown.length > 1 && <Legend parts={shown} />}
      </figcaption>
      <Plot panel={panel} series={series} totals={totals} ceiling={ceiling} />
      <p class="ends small muted"><span>{w.day(series[0]?.date ?? "")}</span><span>{w.day(series.at(-1)?.date ?? "")}</span></p>
      {imports && <Imports series={series} cut={cutDays(series, totals, ceiling).length > 0} />}
    </figure>
  );
}

function Plot({ panel: { name, parts, imports }, series, totals, ceiling }: { panel: Panel; series: readonly Day[]; totals: readonly number[]; ceiling: number }) {
  const days = series.length;
  const most = totals.indexOf(Math.max(...totals));
  const label = w.chart(name, totals.reduce((one, other) => one + other, 0), totals[most] ?? 0, w.day(series[most]?.date ?? ""));
  const imported = series.map((day) => day.imported);
  const cut = imports ? cutDays(series, totals, ceiling) : [];
  const at = pointed.value?.panel === name ? pointed.value.day : null;
  const point = (event: PointerEvent) => {
    const { left, width } = (event.currentTarget as Element).getBoundingClientRect();
    pointed.value = { panel: name, day: dayAt((event.clientX - left) / width, days) };
  };
  return (
    <div class="plot">
      <span class="scale small muted" aria-hidden="true">{t.number(ceiling)}</span>
      <svg viewBox={`0 0 ${days} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}
        onPointerMove={point} onPointerDown={point} onPointerLeave={() => (pointed.value = null)}>
        <path class="lines" d={`M0 0H${days}M0 50H${days}M0 ${HEIGHT}H${days}`} />
        {parts.map((part, place) => {
          const before = parts.slice(0, place);
          return <path key={part} class={`bar ${part}`} d={barsOf(series.map((day) => day[part]), ceiling, series.map((day) => sum(before, day)))} />;
        })}
        {imports && <path class="bar imported" d={barsOf(imported, ceiling, totals)} />}
        {cut.length > 0 && <path class="cut" d={cut.map((place) => `M${place} 12L${place + 1} 6V9L${place} 15Z`).join("")} />}
        {at !== null && <rect class="pointed" x={at} y="0" width="1" height={HEIGHT} />}
      </svg>
    </div>
  );
}

/** The days whose imports do not fit into the scale. */
function cutDays(series: readonly Day[], totals: readonly number[], ceiling: number): number[] {
  return cutOff(series.map((day, place) => day.imported + (totals[place] ?? 0)), ceiling);
}

function Legend({ parts }: { parts: readonly Counted[] }) {
  return (
    <span class="legend small">
      {parts.map((part) => <Fragment key={part}><svg viewBox="0 0 10 10" width="10" height="10" aria-hidden="true"><rect class={`bar ${part}`} width="10" height="10" rx="2" /></svg>{w.series[part]}</Fragment>)}
    </span>
  );
}

function Imports({ series, cut }: { series: readonly Day[]; cut: boolean }) {
  const days = series.filter((day) => day.imported);
  if (!days.length) return null;
  const number = days.reduce((all, day) => all + day.imported, 0);
  return <p class="small imports">{w.importedOn(number, days.map((day) => w.day(day.date)), cut)}</p>;
}

function DayTable({ title, parts, series }: { title: string; parts: readonly Counted[]; series: readonly Day[] }) {
  const names = [w.date, ...parts.map((part) => w.series[part])];
  const rows = series.map((day) => [day.date, ...parts.map((part) => day[part])]);
  return (
    <>
      <button type="button" class="button small" aria-label={`${w.export}: ${title}`} onClick={() => download(fileName("figures"), csvOf(names, rows))}>{w.export}</button>
      <div class="days" tabIndex={0} role="region" aria-label={title}>
        <table>
          <thead><tr>{names.map((name) => <th scope="col" key={name}>{name}</th>)}</tr></thead>
          <tbody>{rows.map(([date, ...values]) => <tr key={date}><th scope="row">{w.day(String(date))}</th>{values.map((value, place) => <td key={place}>{t.number(Number(value))}</td>)}</tr>)}</tbody>
        </table>
      </div>
    </>
  );
}

function sum(parts: readonly Counted[], day: Record<Counted, number>): number {
  return parts.reduce((all, part) => all + day[part], 0);
}
