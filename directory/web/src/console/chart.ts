// The geometry of a chart of days: a path of bars, 1 wide each and 100 high at most.
export const HEIGHT = 100;
const STEPS = [1, 2, 3, 4, 5, 6, 8, 10];
const MANY = 100; // bars without a gap between them from here on

/** The end of a scale: a round number that is no less than any value. */
export function ceilingOf(values: readonly number[]): number {
  const most = Math.max(1, ...values);
  const unit = 10 ** Math.floor(Math.log10(most));
  return unit * (STEPS.find((step) => step * unit >= most) ?? 10);
}

/** Bars of these values on top of others. What is above the ceiling is cut off. */
export function barsOf(values: readonly number[], ceiling: number, below: readonly number[] = []): string {
  const gap = values.length > MANY ? 0 : 0.2;
  return values.map((value, place) => {
    const from = heightOf(below[place] ?? 0, ceiling);
    const to = heightOf((below[place] ?? 0) + value, ceiling);
    return from === to ? "" : `M${round(place + gap / 2)} ${from}V${to}H${round(place + 1 - gap / 2)}V${from}Z`;
  }).join("");
}

/** The days whose bars do not fit below the ceiling. */
export function cutOff(values: readonly number[], ceiling: number): number[] {
  return values.flatMap((value, place) => (value > ceiling ? [place] : []));
}

/** The day at a place between the left end (0) and the right end (1). */
export function dayAt(place: number, days: number): number {
  return Math.min(days - 1, Math.max(0, Math.floor(place * days)));
}

function heightOf(value: number, ceiling: number): number {
  return round(HEIGHT - (HEIGHT * Math.min(value, ceiling)) / ceiling);
}

function round(number: number): number {
  return Math.round(number * 100) / 100;
}
