// Times in words, and exact on demand.
import { now } from "../state/clock.ts";

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "long" });
const dates = new Intl.DateTimeFormat("en", { dateStyle: "medium" });
const times = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" });
const exact = new Intl.DateTimeFormat("en", { dateStyle: "long", timeStyle: "short" });
const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ["year", 31_557_600], ["month", 2_629_800], ["week", 604_800], ["day", 86_400], ["hour", 3600], ["minute", 60],
];

/** "3 days ago", "in 2 hours", "just now". */
export function ago(when: string, present = now()): string {
  const seconds = (Date.parse(when) - present) / 1000;
  for (const [unit, length] of UNITS) {
    const least = unit === "week" ? 2 * length : length; // "8 days ago" says more than "last week"
    if (Math.abs(seconds) >= least) return relative.format(Math.trunc(seconds / length), unit);
  }
  return "just now";
}

/** "Nov 23, 2026". */
export function day(when: string): string {
  return dates.format(new Date(when));
}

/** "Nov 23, 2026, 10:04 AM". */
export function dated(when: string): string {
  return times.format(new Date(when));
}

export function Time({ at }: { at: string }) {
  return <time dateTime={at} title={exact.format(new Date(at))}>{ago(at)}</time>;
}
