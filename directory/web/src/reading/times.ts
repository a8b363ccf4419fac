// Ages in place of dates: "3 hours ago" in a row, "Today" over the rows of a day. Without this the date stands there.
import { language as languageOfPage } from "./words.ts";

const DAY = 86_400_000;
const STEPS: [Intl.RelativeTimeFormatUnit, number][] = [["hour", 3_600_000], ["minute", 60_000]];
const WEEK = 7 * DAY;
const language = languageOfPage();
const ages = new Intl.RelativeTimeFormat(language);
const names = new Intl.RelativeTimeFormat(language, { numeric: "auto" }); // "yesterday" and "now"

/** Show the age of what is younger than a week. */
export function showTimes(): void {
  const now = Date.now();
  for (const time of document.querySelectorAll<HTMLTimeElement>(".row time, .day time")) {
    const at = Date.parse(time.dateTime);
    const isRecent = at <= now && now - at < WEEK;
    const shown = time.closest(".day") ? dayName(now, time.dateTime) : isRecent ? ageOf(now, at) : "";
    if (!shown) continue;
    time.title ||= time.textContent ?? "";
    time.textContent = shown;
  }
}

/** The days of the headings are those of UTC. */
function dayName(now: number, day: string): string {
  const ago = [0, 1].find((days) => day === new Date(now - days * DAY).toISOString().slice(0, 10));
  const name = ago === undefined ? "" : names.format(-ago, "day");
  return name.charAt(0).toLocaleUpperCase(language) + name.slice(1);
}

function ageOf(now: number, at: number): string {
  if (now - at >= DAY) return ages.format(Math.floor(at / DAY) - Math.floor(now / DAY), "day");
  const step = STEPS.find(([, length]) => now - at >= length);
  return step ? ages.format(-Math.floor((now - at) / step[1]), step[0]) : names.format(0, "second");
}
