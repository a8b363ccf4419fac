// Ages in place of dates: "3 hours ago" in a row and in a thread. Without this the date stands there.
import { language as languageOfPage } from "./words.ts";

const DAY = 86_400_000;
const STEPS: [Intl.RelativeTimeFormatUnit, number][] = [["hour", 3_600_000], ["minute", 60_000]];
const WEEK = 7 * DAY;
const language = languageOfPage();
const ages = new Intl.RelativeTimeFormat(language);
const names = new Intl.RelativeTimeFormat(language, { numeric: "auto" }); // "now"

/** Show the age of what is younger than a week. */
export function showTimes(): void {
  const now = Date.now();
  for (const time of document.querySelectorAll<HTMLTimeElement>(".row time, .thread time")) {
    const at = Date.parse(time.dateTime);
    if (at > now || now - at >= WEEK) continue;
    time.title ||= time.textContent ?? "";
    time.textContent = ageOf(now, at);
  }
}

function ageOf(now: number, at: number): string {
  if (now - at >= DAY) return ages.format(Math.floor(at / DAY) - Math.floor(now / DAY), "day");
  const step = STEPS.find(([, length]) => now - at >= length);
  return step ? ages.format(-Math.floor((now - at) / step[1]), step[0]) : names.format(0, "second");
}
