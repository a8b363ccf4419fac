// Decisions about many users: those that are selected, or all that the filters find, a portion after the other.
import { api, ask, type Schemas } from "../api/client.ts";
import { wantedBy } from "../state/filtering.ts";
import { say } from "../state/notice.ts";
import { address } from "../state/router.ts";
import { readOnly } from "../state/session.ts";
import { ask as question } from "./dialog-state.ts";
import type { Listing } from "./listing.ts";
import { u } from "./users-text.ts";
import { w } from "./text.ts";

type User = Schemas["UserDetail"];
type Input = Schemas["UserDecisionsInput"];
type Decision = Input["decision"];
type Which = Pick<Input, "ids"> | Pick<Input, "match">;

const DECISIONS: readonly Decision[] = ["suspend", "delete"];

/** The buttons for the users that are selected; administrators are left out. */
export function SelectedUsers({ list, rows }: { list: Listing<User>; rows: readonly User[] }) {
  const ids = rows.filter((each) => each.role === "member" && !each.deleted_at).map((each) => each.id);
  return <Buttons list={list} number={ids.length} which={{ ids }} />;
}

/** The buttons for all that the filters find, on every page. */
export function FoundUsers({ list }: { list: Listing<User> }) {
  const shown = list.rows.data.value;
  const match = matching(list);
  if (!match || !shown?.total || shown.of !== list.key) return null;
  return <Buttons list={list} number={shown.total} which={{ match }} all />;
}

/** The filters of the address as the API takes them; null without any. */
function matching(list: Listing<User>): Input["match"] | null {
  const { sort: _, cursor: _cursor, ...match } = wantedBy(address.value.searchParams, list.filters) ?? {};
  return Object.keys(match).length ? (match as Input["match"]) : null;
}

function Buttons({ list, number, which, all = false }: { list: Listing<User>; number: number; which: Which; all?: boolean }) {
  if (!number) return null;
  return (
    <>
      {DECISIONS.map((decision) => (
        <button key={decision} type="button" class="button small danger" disabled={readOnly.value} onClick={() => askAbout(list, decision, number, which)}>
          {all ? u.all(decision, number) : u.some(decision, number)}
        </button>
      ))}
    </>
  );
}

function askAbout(list: Listing<User>, decision: Decision, number: number, which: Which): void {
  question({
    title: u.title(decision, number), text: u.why[decision], action: u.some(decision, number), danger: true,
    fields: [
      ...(decision === "suspend" ? [{ name: "unpublish", kind: "check", label: u.unpublish } as const] : []),
      { name: "reason", kind: "text", label: w.reason, hint: w.reasonHint, optional: true },
    ],
    act: async ({ unpublish, reason = "" }) => {
      const body = { decision, ...which, ...(unpublish === "yes" && { unpublish: true }), ...(reason.trim() && { reason }) };
      await carryOut(list, body);
    },
  });
}

/** Send the decision until it is made, or nothing changes any more. What was changed stays, whatever comes between. */
async function carryOut(list: Listing<User>, body: Input): Promise<void> {
  let changed = 0;
  try {
    for (;;) {
      const portion = await ask(api.POST("/api/admin/users/decisions", { body }));
      changed += portion.changed;
      say(u.done(body.decision, changed, portion.remaining));
      if (!portion.remaining || !portion.changed) return;
    }
  } finally {
    list.selected.value = new Set();
    void list.again();
  }
}
