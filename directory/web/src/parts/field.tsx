// A field of a form: its label, what it is for, and what is wrong with it, tied together for a screen reader.
import type { ComponentChildren, JSX } from "preact";
import { t } from "../text.ts";

interface FieldProps {
  name: string;
  label: string;
  hint?: string;
  error?: string;
  optional?: boolean;
  /** How many characters are left, where it matters. */
  left?: number;
  children: (attributes: { id: string; "aria-describedby"?: string; "aria-invalid"?: boolean; "aria-required"?: boolean }) => ComponentChildren;
}

export function Field({ name, label, hint, error, optional, left, children }: FieldProps) {
  const id = `field-${name}`;
  const notes = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ");
  return (
    <div class={`field${error ? " wrong" : ""}`}>
      <div class="label">
        <label for={id}>{label}</label>
        {optional && <span class="muted small">{t.optional}</span>}
        {left !== undefined && <span class={`left small ${left < 0 ? "over" : "muted"}`}>{left < 0 ? t.over(-left) : t.left(left)}</span>}
      </div>
      {children({ id, "aria-describedby": notes || undefined, "aria-invalid": error ? true : undefined, "aria-required": optional ? undefined : true })}
      {error && <p class="error" id={`${id}-error`}>{error}</p>}
      {hint && <p class="hint" id={`${id}-hint`}>{hint}</p>}
    </div>
  );
}

type Input = JSX.IntrinsicElements["input"];
type Names = "type" | "value" | "defaultValue" | "placeholder" | "inputMode" | "autocomplete" | "autocapitalize" | "spellcheck" | "autofocus" | "required"
  | "maxLength" | "onInput" | "onCompositionEnd" | "onBlur";
type InputProps = Omit<FieldProps, "children"> & Pick<Input, Names>;

/** A field of one line. */
export function TextField({ name, label, hint, error, optional, left, ...input }: InputProps) {
  return (
    <Field {...{ name, label, hint, error, optional, left }}>
      {(attributes) => <input {...(input as Input)} {...attributes} name={name} />}
    </Field>
  );
}

/** Put the focus on the first field that is wrong, once it is shown so. */
export function focusWrong(form: HTMLElement): void {
  requestAnimationFrame(() => form.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus());
}
