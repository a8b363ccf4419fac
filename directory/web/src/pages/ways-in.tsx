// The providers by which an account is signed in to.
import type { Schemas } from "../api/client.ts";
import { ago } from "../parts/time.tsx";
import { Wrong } from "../parts/wrong.tsx";
import { busy, join, removeIdentity, ways } from "../state/account.ts";
import { session } from "../state/session.ts";
import { f } from "../text.forms.ts";

export function WaysIn() {
  const providers = session.value?.providers ?? [];
  if (!providers.length) return null;
  const shown = ways.data.value?.items ?? [];
  const others = providers.filter(({ name }) => !shown.some(({ provider }) => provider === name));
  return (
    <section class="card">
      <h2>{f.ways}</h2>
      <p class="muted">{ways.data.value?.has_password === false ? f.waysNoPassword : f.waysLead}</p>
      <Wrong form="ways" />
      <ul class="items">{shown.map((each) => <Way key={each.id} identity={each} />)}</ul>
      <div class="form">
        {others.map(({ name, label }) => (
          <button key={name} type="button" class="button" aria-disabled={busy.value === "ways"} onClick={() => void join(name)}>{f.joinWay(label)}</button>
        ))}
      </div>
    </section>
  );
}

function Way({ identity: { id, label, email, last_used_at } }: { identity: Schemas["Identity"] }) {
  return (
    <li>
      <span class="grow">
        <strong dir="auto">{label}</strong>
        <span class="small muted">{email ? `${email}, ` : ""}{f.lastUsed(ago(last_used_at))}</span>
      </span>
      <button type="button" class="button small" aria-label={`${f.removeWay} ${label}`} aria-disabled={busy.value === "ways"}
        onClick={() => void removeIdentity(id)}>{f.removeWay}</button>
    </li>
  );
}
