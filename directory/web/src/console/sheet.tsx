// A dialog of the console, above the page. Escape, its button and a click outside of it close it.
import type { ComponentChildren } from "preact";
import { Cross } from "../parts/icons.tsx";
import { t } from "../text.ts";

let pressed: EventTarget | null = null; // where the mouse went down last

interface SheetProps {
  name: string;
  title: string;
  close: () => void;
  onSubmit?: (event: SubmitEvent) => void;
  children: ComponentChildren;
}

export function Sheet({ name, title, close, onSubmit = stay, children }: SheetProps) {
  return (
    <dialog class={`sheet-dialog ${name}-dialog`} aria-labelledby={`${name}-title`} ref={open} onClose={close}
      onMouseDown={(event) => (pressed = event.target)} onClick={(event) => isOutside(event) && close()}>
      <form noValidate onSubmit={onSubmit}>
        <header>
          <h2 id={`${name}-title`} dir="auto">{title}</h2>
          <button type="button" class="button square ghost" aria-label={t.close} onClick={close}><Cross /></button>
        </header>
        {children}
      </form>
    </dialog>
  );
}

function open(element: HTMLDialogElement | null): void {
  if (element && !element.open) element.showModal();
}

/** A text that is selected beyond the edge of the dialog is a click outside too, but was pressed inside. */
function isOutside(event: MouseEvent): boolean {
  return event.target === event.currentTarget && pressed === event.currentTarget;
}

function stay(event: SubmitEvent): void {
  event.preventDefault();
}
