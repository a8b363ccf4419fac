// One rule: a form with its conditions, and a preview of what it would have done.
import { pathOf } from "../../parts/address.ts";
import { Field, focusWrong, TextField } from "../../parts/field.tsx";
import { Empty, Failed, Skeleton } from "../../parts/states.tsx";
import { showHere } from "../../parts/wrong.tsx";
import { say } from "../../state/notice.ts";
import { navigate, type Page } from "../../state/router.ts";
import {
  addRow, changeRow, conditions, effect, enterRule, errorAt, type Found, factOf, facts, preview, refused, removeRow, type Row, rows, type Rule, runPreview, saved, saveRule,
} from "./rule-draft.ts";
import { readOnly } from "../../state/session.ts";
import { t } from "../../text.ts";
import { Frame } from "../../console/frame.tsx";
import { u } from "./text.ts";
import { w } from "../../console/text.ts";

const PERIODS = [7, 30, 90, 365];
const OUTCOMES = ["approved", "rejected", "waiting", "taken_down"] as const;

export const rule: Page = {
  enter: ([id = "0"]) => enterRule(Number(id)),
  view: () => <Frame title={saved.data.value?.name ?? u.add}><Content /></Frame>,
  title: () => saved.data.value?.name ?? u.title,
};

function Content() {
  const [known, found] = [facts.data.value, saved.data.value];
  const problem = saved.problem.value ?? facts.problem.value;
  if (problem?.status === 404) return <Empty title={u.gone} why={u.goneWhy}><a class="button" href="/admin/rules">{u.back}</a></Empty>;
  if (problem) return <Failed problem={problem} again={() => void Promise.all([facts.again(), saved.again()])} />;
  return known && found !== undefined ? <Form key={found?.id ?? 0} rule={found} /> : <Skeleton rows={3} />;
}

function Form({ rule: found }: { rule: Rule | null }) {
  const whole = refused.value && !(refused.value.body.errors?.length) ? refused.value : null;
  return (
    <form class="form rule" noValidate onSubmit={submit}>
      <p class="small"><a href="/admin/rules">{u.back}</a></p>
      {whole && <p class="banner bad" role="alert" tabIndex={-1} ref={showHere}>{whole.detail}</p>}
      <TextField name="name" label={u.name} error={errorAt("name")} defaultValue={found?.name ?? ""} autocomplete="off" maxLength={60} />
      <Kinds chosen={found?.on ?? ["submission"]} />
      <Conditions />
      <Field name="then" label={u.then} error={errorAt("then")}>
        {(attributes) => (
          <select {...attributes} name="then" value={effect.value} onChange={(event) => (effect.value = event.currentTarget.value as Rule["then"])}>
            {Object.entries(u.effects).map(([each, name]) => <option key={each} value={each}>{name}</option>)}
          </select>
        )}
      </Field>
      {effect.value === "reject" && (
        <Field name="reason" label={u.reason} hint={u.reasonHint} error={errorAt("reason")}>
          {(attributes) => <textarea {...attributes} name="reason" rows={3} maxLength={1000} dir="auto" defaultValue={found?.reason ?? ""} />}
        </Field>
      )}
      <Field name="state" label={u.state} hint={u.stateHint} error={errorAt("state")}>
        {(attributes) => (
          <select {...attributes} name="state">
            {Object.entries(u.states).map(([each, name]) => <option key={each} value={each} selected={each === (found?.state ?? "off")}>{name}</option>)}
          </select>
        )}
      </Field>
      <p class="actions">
        <button type="submit" class="button primary" disabled={readOnly.value}>{u.save}</button>
        <span class="grow" />
        <label for="rule-days">{u.period}</label>
        <select id="rule-days" name="days">{PERIODS.map((days) => <option key={days} value={days} selected={days === 90}>{w.period(days)}</option>)}</select>
        <button type="submit" name="act" value="preview" class="button" disabled={readOnly.value}>{u.run}</button>
      </p>
      {preview.data.value && <Preview found={preview.data.value} />}
    </form>
  );
}

function Kinds({ chosen }: { chosen: Rule["on"] }) {
  const error = errorAt("on");
  return (
    <fieldset class="field">
      <legend>{u.on}</legend>
      {error && <p class="error" id="rule-on-error">{error}</p>}
      <div class="chips">
        {(Object.keys(u.kinds) as Rule["on"]).map((each) => (
          <label class="check" key={each}>
            <input type="checkbox" name="on" value={each} defaultChecked={chosen.includes(each)} aria-describedby={error && "rule-on-error"} /> <span>{u.kinds[each]}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}

function Conditions() {
  const list = rows.value;
  const error = errorAt("when");
  return (
    <fieldset class="field">
      <legend>{u.when}</legend>
      {error && <p class="error">{error}</p>}
      {list.map((each, place) => <Condition key={each.key} row={each} place={place} alone={list.length === 1} />)}
      {list.length < 10 && <button type="button" class="button small start" onClick={addRow}>{u.addCondition}</button>}
    </fieldset>
  );
}

function Condition({ row: { key, fact, is, text }, place, alone }: { row: Row; place: number; alone: boolean }) {
  const known = factOf(fact);
  const errors = ["fact", "is", "value"].flatMap((name) => errorAt(`when/${place}/${name}`) ?? []).join(" ") || errorAt(`when/${place}`);
  const id = `condition-${key}`;
  const wrong = { "aria-invalid": errors ? true : undefined, "aria-describedby": errors ? `${id}-error` : undefined };
  return (
    <div class={`condition${errors ? " wrong" : ""}`}>
      <select aria-label={u.factOf(place + 1)} value={fact} {...wrong} onChange={(event) => changeRow(key, { fact: event.currentTarget.value as Row["fact"] })}>
        {facts.data.value?.map((each) => <option key={each.fact} value={each.fact}>{u.fact(each.fact)}</option>)}
      </select>
      <select aria-label={u.isOf(place + 1)} value={is} onChange={(event) => changeRow(key, { is: event.currentTarget.value as Row["is"] })}>
        {known?.is.map((each) => <option key={each} value={each}>{u.is(each)}</option>)}
      </select>
      <Value row={{ key, fact, is, text }} type={known?.type} label={u.valueOf(place + 1)} />
      <button type="button" class="button small ghost" aria-label={u.removeOf(place + 1)} disabled={alone} onClick={() => removeRow(key)}>{u.remove}</button>
      {errors && <p class="error" id={`${id}-error`}>{errors}</p>}
    </div>
  );
}

function Value({ row: { key, is, text }, type, label }: { row: Row; type?: string; label: string }) {
  const about = { "aria-label": label, onInput: (event: InputEvent) => changeRow(key, { text: (event.currentTarget as HTMLInputElement).value }) };
  if (type === "truth") {
    return <select aria-label={label} value={text} onChange={(event) => changeRow(key, { text: event.currentTarget.value })}><option value="true">{w.yes}</option><option value="false">{w.no}</option></select>;
  }
  if (type === "number") return <input {...about} type="number" min={0} step="any" value={text} />;
  if (is === "=") return <input {...about} value={text} autocomplete="off" autocapitalize="none" spellcheck={false} />;
  return <textarea {...about} rows={2} value={text} title={u.valuesHint} placeholder={u.valuesHint} spellcheck={false} />;
}

/** What the rule would have done, by what became of it, each with its examples. */
function Preview({ found: { matched, evaluated, unknown, by_outcome, examples } }: { found: Found }) {
  return (
    <section class="section" aria-labelledby="rule-preview">
      <h2 id="rule-preview">{u.preview}</h2>
      <p role="status">{u.found(matched, evaluated, unknown)}</p>
      <div class="scroll">
        <table class="list" role="table">
          <thead role="rowgroup"><tr role="row">{[u.outcome, u.matched, u.examples].map((name) => <th role="columnheader" scope="col" key={name}>{name}</th>)}</tr></thead>
          <tbody role="rowgroup">
            {OUTCOMES.map((outcome) => (
              <tr role="row" key={outcome}>
                <td role="cell" class="head" data-label={u.outcome}><div>{u.outcomes[outcome]}</div></td>
                <td role="cell" data-label={u.matched}><div>{t.number(by_outcome[outcome])}</div></td>
                <td role="cell" class="wrap" data-label={u.examples}><div><Examples list={examples[outcome]} /></div></td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Examples({ list }: { list: Found["examples"]["approved"] }) {
  if (!list.length) return <>{w.empty}</>;
  return (
    <details class="changes">
      <summary>{u.showExamples(list.length)}</summary>
      <ul class="q-log">
        {list.map((each) => <li key={each.id}><a href={each.status === "live" ? pathOf(each) : `/admin/queue/${each.id}`} dir="auto">{each.title}</a> <span class="muted">{each.tagline}</span></li>)}
      </ul>
    </details>
  );
}

async function submit(event: SubmitEvent): Promise<void> {
  event.preventDefault();
  const form = event.currentTarget as HTMLFormElement;
  const data = new FormData(form);
  const text = (name: string) => String(data.get(name) ?? "");
  const then = effect.peek();
  const given = { on: data.getAll("on") as Rule["on"], when: conditions(), then, reason: then === "reject" ? text("reason") : null };
  const isPreview = event.submitter?.getAttribute("value") === "preview";
  if (isPreview) {
    const name = text("name") || u.add;
    if (!(await runPreview({ ...given, name, reason: then === "reject" ? text("reason") || "–" : null }, Number(text("days"))))) focusWrong(form);
    return;
  }
  const found = await saveRule({ ...given, name: text("name"), state: text("state") as Rule["state"] });
  if (!found) return focusWrong(form);
  say(u.saved(found.name));
  navigate("/admin/rules");
}
