// The passkeys of an account: adding, naming and removing them.
import type { Schemas } from "../api/client.ts";
import { TextField } from "../parts/field.tsx";
import { atLocalhost, hasPasskeys } from "../parts/passkey.ts";
import { ago } from "../parts/time.tsx";
import { Wrong } from "../parts/wrong.tsx";
import { addPasskey, busy, errors, passkeys, removePasskey, renamePasskey } from "../state/account.ts";
import { session } from "../state/session.ts";
import { f } from "../text.forms.ts";

export function Passkeys() {
  if (!session.value?.passkeys) return null;
  const shown = passkeys.data.value ?? [];
  return (
    <section class="card">
      <h2>{f.passkeys}</h2>
      <p class="muted">{session.value.passkey_required ? f.passkeysNeeded : f.passkeysLead}</p>
      <Wrong form="passkeys" />
      <ul class="items">{shown.map((each) => <PasskeyItem key={each.id} passkey={each} />)}</ul>
      {hasPasskeys() ? <NewPasskey /> : <NoPasskeys />}
    </section>
  );
}

function NewPasskey() {
  const add = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    if (await addPasskey(String(new FormData(form).get("passkey_name") ?? ""))) form.reset();
  };
  return (
    <form class="form inline" noValidate onSubmit={add}>
      <TextField name="passkey_name" label={f.passkeyName} optional autocomplete="off" maxLength={100} error={errors.value.passkeys?.name} />
      <button type="submit" class="button" aria-disabled={busy.value === "passkeys"}>{f.addPasskey}</button>
    </form>
  );
}

function PasskeyItem({ passkey: { id, name, created_at, last_used_at } }: { passkey: Schemas["Passkey"] }) {
  const rename = async (event: Event) => {
    const field = event.currentTarget as HTMLInputElement;
    if (!(await renamePasskey(id, field.value))) field.value = name;
  };
  return (
    <li>
      <span class="grow">
        <input dir="auto" class="name" aria-label={f.passkeyNameOf(name)} maxLength={100} autocomplete="off" defaultValue={name} onChange={rename} />
        <span class="small muted">{f.passkeyFrom(ago(created_at))}, {last_used_at ? f.lastUsed(ago(last_used_at)) : f.neverUsed}</span>
      </span>
      <button type="button" class="button small" aria-label={`${f.removePasskey} ${name}`} aria-disabled={busy.value === "passkeys"}
        onClick={() => void removePasskey(id)}>{f.removePasskey}</button>
    </li>
  );
}

function NoPasskeys() {
  const address = atLocalhost();
  if (!address) return <p class="muted">{f.passkeysUnsupported}</p>;
  return <p class="muted">{f.passkeysAtLocalhost} <a href={address}>{new URL(address).host}</a>.</p>;
}
