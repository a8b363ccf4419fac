// What has happened to a project, for its owner.
import { signal, type Signal } from "@preact/signals";
import { api, ask, type Got } from "../api/client.ts";
import { Resource } from "../state/resource.ts";
import { onNewCaller } from "../state/session.ts";
import { t } from "../text.ts";
import { Failed } from "./states.tsx";
import { Time } from "./time.tsx";

type Event = Got<"/api/projects/{project_id}/timeline">["items"][number];
const read = new Map<number, Resource<readonly Event[]>>();
const version: Signal<number> = signal(0);

/** What was read of a project's history is out of date: it is read again when it is shown. */
export function forgetTimelines(): void {
  read.clear();
  version.value++;
}

onNewCaller(forgetTimelines);

export function Timeline({ id }: { id: number }) {
  version.value;
  const events = eventsOf(id);
  const shown = events.data.value;
  const problem = events.problem.value;
  if (!shown) return problem ? <Failed problem={problem} again={() => void events.again()} /> : <p class="muted">{t.loading}</p>;
  return (
    <ol class="timeline">
      {shown.map((each) => (
        <li key={each.at + each.event} class={each.event}>
          <strong>{t.events[each.event] ?? each.event}</strong> <Time at={each.at} />
          {each.reason && <p class="reason" dir="auto">{each.reason}</p>}
        </li>
      ))}
    </ol>
  );
}

function eventsOf(id: number): Resource<readonly Event[]> {
  let events = read.get(id);
  if (!events) {
    read.set(id, (events = new Resource(true)));
    void events.load(`timeline ${id}`, async (signal) => {
      const options = { params: { path: { project_id: id } }, signal };
      return (await ask(api.GET("/api/projects/{project_id}/timeline", options))).items;
    });
  }
  return events;
}
