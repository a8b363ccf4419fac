// The input of a field as the form of a project has it.
import { t } from "../../text.ts";
import { w } from "../../console/text.ts";
import { draft, rows, said } from "./draft.ts";
import { f } from "./text.ts";


export function Preview() {
  const { label, help, kind, required } = draft.value;
  return (
    <fieldset class="field own-preview" disabled>
      <legend>{f.preview}</legend>
      <div class="field">
        <div class="label"><span dir="auto">{said(label) || f.label}</span>{!required && <span class="muted small">{t.optional}</span>}</div>
        <Input kind={kind} label={said(label) || f.label} />
        {said(help) && <p class="hint" dir="auto">{said(help)}</p>}
      </div>
    </fieldset>
  );
}

function Input({ kind, label }: { kind: string; label: string }) {
  const offered = rows.value.filter((each) => !each.retired).map((each) => said(each.label) || each.value);
  if (kind === "choices") return <>{offered.map((each, place) => <label class="check" key={place}><input type="checkbox" /> <span dir="auto">{each}</span></label>)}</>;
  if (kind === "choice" || kind === "truth") {
    return <select aria-label={label}>{[f.notGiven, ...(kind === "truth" ? [w.yes, w.no] : offered)].map((each, place) => <option key={place}>{each}</option>)}</select>;
  }
  if (kind === "date") return <input type="date" aria-label={label} />;
  return <input aria-label={label} inputMode={kind === "number" ? "decimal" : kind === "url" ? "url" : "text"} />;
}
