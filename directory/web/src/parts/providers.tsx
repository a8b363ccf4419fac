// Other places by which one can sign in, where the site has any.
import { address } from "../state/router.ts";
import { session } from "../state/session.ts";
import { f } from "../text.forms.ts";

const PATH = /^\/[\w.~!$&'()*+,;=:@?%/-]*$/; // what the service takes as a place to come back to

export function Providers() {
  const listed = session.value?.providers ?? [];
  if (!listed.length) return null;
  return (
    <div class="providers">
      <p class="small muted center">{f.or}</p>
      {listed.map(({ name, label }) => (
        <a key={name} class="button block" href={`/api/auth/providers/${name}?next=${encodeURIComponent(here())}`}>{f.continueWith(label)}</a>
      ))}
    </div>
  );
}

/** The page to come back to; without its query where that says how the last try ended, or cannot be sent. */
function here(): string {
  const { pathname, search, searchParams } = address.value;
  return searchParams.has("sign-in") || !PATH.test(pathname + search) ? pathname : pathname + search;
}
