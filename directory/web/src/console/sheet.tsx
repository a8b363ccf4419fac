// A dialog of the console, above the page. Escape, its button and a click outside of it close it.
import type { ComponentChildren } from "preact";
import { Cross } from "../parts/icons.tsx";
import { t } from "../text.ts";

interface SheetProps {
  name: string;
  title: string;
  close: () => void;
  onSubmit?: (event: SubmitEvent) => void;
  children: ComponentChildren;
}

export function Sheet({ name, title, close, onSubmit = stay, children }: SheetProps) {
  return (
    <dialog class={`sheet-dialog ${name}-dialog`} aria-labelledby={`${name}-title`} ref={open} onClose={close} onClick={(event) => isOutside(event) && close()}>
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

function isOutside(event: MouseEvent): boolean {
  return event.target === event.currentTarget;
}

function stay(event: SubmitEvent): void {
  event.preventDefault();
}
