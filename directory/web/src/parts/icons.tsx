// The few pictures that the pages have, drawn in the colour of the text around them.
function icon(path: string, { filled = false } = {}) {
  return () => (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true"
      fill={filled ? "currentColor" : "none"} stroke={filled ? "none" : "currentColor"}
      stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round">
      <path d={path} />
    </svg>
  );
}

export const Up = icon("M8 3.2 14 12H2Z", { filled: true });
export const Search = icon("M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10Zm3.7-1.3L14 14");
export const Cross = icon("m4 4 8 8m0-8-8 8");
export const Out = icon("M6 3H3v10h10v-3M9 2.5h4.5V7M13 3 7.5 8.5");
export const Code = icon("m5.5 4-4 4 4 4m5-8 4 4-4 4");
export const Plus = icon("M8 3v10M3 8h10");
export const Person = icon("M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM2.5 14c.6-3 2.6-4.5 5.5-4.5s4.9 1.5 5.5 4.5");
export const Half = icon("M8 1.5a6.5 6.5 0 1 0 0 13Zm0 0a6.5 6.5 0 0 1 0 13Z");
export const Sun = icon("M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM8 1v1.5m0 11V15M1 8h1.5m11 0H15M3 3l1 1m8 8 1 1M3 13l1-1m8-8 1-1");
export const Moon = icon("M13.5 9.5A6 6 0 0 1 6.5 2.5a6 6 0 1 0 7 7Z");
