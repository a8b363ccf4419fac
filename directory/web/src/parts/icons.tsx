// The few pictures that the pages have, drawn in the colour of the text around them.
function icon(path: string) {
  return () => (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true"
      fill="none" stroke="currentColor"
      stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round">
      <path d={path} />
    </svg>
  );
}

export const Cross = icon("m4 4 8 8m0-8-8 8");
export const Person = icon("M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM2.5 14c.6-3 2.6-4.5 5.5-4.5s4.9 1.5 5.5 4.5");
