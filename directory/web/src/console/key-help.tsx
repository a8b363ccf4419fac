// The keys of the console, explained.
import { added } from "../extras/extra.ts";
import { help } from "../state/queue-keys.ts";
import { isAdministrator } from "../state/session.ts";
import { r } from "./review-text.ts";
import { Sheet } from "./sheet.tsx";

export function KeyHelp() {
  if (!help.value) return null;
  const own = Object.entries(added.keys ?? {}).map(([key, { does }]): [string[], string] => [[key], does]);
  return (
    <Sheet name="keys" title={r.helpTitle} close={close}>
      <dl>
        {[...r.help, ...own].filter(([keys]) => isAdministrator.value || keys[0] !== "g" || keys[1] === "q").map(([keys, text]) => (
          <div key={text}><dt>{keys.map((key) => <kbd key={key}>{key}</kbd>)}</dt><dd>{text}</dd></div>
        ))}
      </dl>
    </Sheet>
  );
}

function close(): void {
  help.value = false;
}
