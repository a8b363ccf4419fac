// What stands around every page of the console: the line on the last decision, and the keys, explained.
import { Cross } from "../parts/icons.tsx";
import { help } from "../state/queue-keys.ts";
import { t } from "../text.ts";
import { DecisionBar } from "./queue-outcomes.tsx";
import { openDialog } from "./queue-reject.tsx";
import { r } from "./review-text.ts";

/** Outside of the page, so that a screen reader hears an outcome also when another page is opened. */
export function QueueFrame() {
  return <><DecisionBar /><KeyHelp /></>;
}

function KeyHelp() {
  if (!help.value) return null;
  return (
    <dialog class="sheet-dialog q-help" aria-labelledby="q-help-title" ref={openDialog} onClose={close} onClick={closeOutside}>
      <form method="dialog">
        <header>
          <h2 id="q-help-title">{r.helpTitle}</h2>
          <button type="button" class="button square ghost" aria-label={t.close} onClick={close}><Cross /></button>
        </header>
        <dl>
          {r.help.map(([keys, text]) => (
            <div key={text}><dt>{keys.map((key) => <kbd key={key}>{key}</kbd>)}</dt><dd>{text}</dd></div>
          ))}
        </dl>
      </form>
    </dialog>
  );
}

function close(): void {
  help.value = false;
}

function closeOutside(event: MouseEvent): void {
  if (event.target === event.currentTarget) close();
}
