// What one takes along, and the end of an account.
import { CheckField, focusWrong, TextField } from "../parts/field.tsx";
import { Wrong } from "../parts/wrong.tsx";
import { busy, errors, leave, ways } from "../state/account.ts";
import { f } from "../text.forms.ts";

export function Export() {
  return (
    <section class="card">
      <h2>{f.exportTitle}</h2>
      <p class="muted">{f.exportLead}</p>
      <div class="form">
        <a class="button" href="/api/auth/me/export" download>{f.exportData}</a>
      </div>
    </section>
  );
}

export function Leave({ username }: { username: string }) {
  const wrong = errors.value.leave;
  const send = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const given = new FormData(form);
    const taken = await leave(String(given.get("leave_password") ?? ""), given.has("sure"));
    if (!taken) focusWrong(form);
  };
  return (
    <section class="card">
      <h2>{f.removeTitle}</h2>
      <p class="muted">{f.removeLead}</p>
      <form class="form" noValidate onSubmit={(event) => void send(event)}>
        <Wrong form="leave" />
        <input type="text" name="username" autocomplete="username" value={username} hidden readOnly />
        {ways.data.value?.has_password !== false && <TextField name="leave_password" label={f.removePassword} type="password" autocomplete="current-password" error={wrong?.current_password} />}
        <CheckField name="sure" label={f.removeSure(username)} error={wrong?.sure} />
        <button type="submit" class="button danger" aria-disabled={busy.value === "leave"}>{f.remove}</button>
      </form>
    </section>
  );
}
