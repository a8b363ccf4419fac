/** On a narrow page tabs scroll: to the current one, each time that they are rendered. */
export function showPresent(nav: HTMLElement | null): void {
  const link = nav?.querySelector<HTMLElement>("[aria-current]");
  if (nav && link) nav.scrollLeft = link.offsetLeft - nav.offsetLeft - 48;
}
