// The input of a field as the form of a project has it.
import { t } from "../../text.ts";
import { w } from "../../console/text.ts";
import { draft, rows, said } from "./draft.ts";
import { f } from "./text.ts";

export function Preview() {
  const { label, help, kind, required } = draft.value;
  return (
    <section class="card" aria-labelledby="own-preview">
      <h2 id="own-preview">{f.preview}</h2>
      <fieldset class="field" disabled>
        <legend class="label"><span dir="auto">{said(label) || f.label}</span>{!required && <span class="muted small">{t.optional}</span>}</legend>
        <Input kind={kind} />
        {said(help) && <p class="hint" dir="auto">{said(help)}</p>}
      </fieldset>
    </section>
  );
}

function Input({ kind }: { kind: string }) {
  const offered = rows.value.filter((each) => !each.retired).map((each) => said(each.label) || each.value);
  if (kind === "choices") return <>{offered.map((each, place) => <label class="check" key={place}><input type="checkbox" /> <span dir="auto">{each}</span></label>)}</>;
  if (kind === "choice" || kind === "truth") {
    return <select aria-label={f.preview}>{[f.notGiven, ...(kind === "truth" ? [w.yes, w.no] : offered)].map((each, place) => <option key={place}>{each}</option>)}</select>;
  }
  return kind === "date" ? <input aria-label={f.preview} type="date" /> : <input aria-label={f.preview} />;
}
