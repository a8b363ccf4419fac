// Who is signed in, and what the site is and allows. Nothing of it is stored in the browser.
import { batch, computed, effect, signal, untracked } from "@preact/signals";
import { api, ask, type Got, Problem } from "../api/client.ts";
import { dropAll } from "../reading/drafts.ts";
import { t } from "../text.ts";
import { say } from "./notice.ts";
import { forget } from "./resource.ts";
import { address, reenter } from "./router.ts";

const READ_ONLY_PAUSE = 60_000; // milliseconds after which it is asked whether writes are taken again
export type Session = Got<"/api/session">;
export const session = signal<Session | null>(null); // null until the first answer
export const sessionProblem = signal<Problem | null>(null);
export const user = computed(() => session.value?.user ?? null);
/** What the caller may do in this session; nothing where a passkey is needed that it was not opened by. */
export const mayReview = computed(() => Boolean(user.value?.permissions.includes("review")));
export const isAdministrator = computed(() => Boolean(user.value?.permissions.includes("administer")));
export const readOnly = computed(() => session.value?.read_only ?? false);

// A write names the account that it is meant for: somebody else may have signed in in another tab.
api.use({
  onRequest({ request }) {
    if (user.peek() && !["GET", "HEAD"].includes(request.method)) request.headers.set("X-Expected-User", String(user.peek()?.id));
  },
});

const listeners: (() => void)[] = [];

/** Call `listener` when somebody else is signed in from now on. */
export function onNewCaller(listener: () => void): void {
  listeners.push(listener);
}

/** Ask who is signed in. */
export async function loadSession(): Promise<void> {
  try {
    const found = await ask(api.GET("/api/session"));
    batch(() => {
      session.value = found;
      sessionProblem.value = null;
    });
  } catch (error) {
    if (error instanceof Problem) sessionProblem.value = error;
  }
}

/** Do something once it is known who is signed in, unless another page has been opened by then. */
export function afterSession(act: () => void): void {
  const page = address.peek();
  const stop = effect(() => {
    if (!session.value) return;
    queueMicrotask(() => stop());
    if (address.peek() === page) untracked(act);
  });
}

// The buttons work again once the service takes writes, without a reload.
effect(() => {
  if (!readOnly.value) return;
  const timer = setInterval(() => void loadSession(), READ_ONLY_PAUSE);
  return () => clearInterval(timer);
});

/** The page that signs in and leads back to this one. */
export function signInAddress(): string {
  const { pathname, search } = address.value;
  return `/sign-in?next=${encodeURIComponent(pathname + search)}`;
}

/** Where the console shows a person: reviewers see the public profile. */
export function personAt({ id, username }: { id: number; username: string }): string {
  return isAdministrator.value ? `/admin/users/${id}` : `/users/${username}`;
}

export async function signOut(): Promise<void> {
  try {
    await ask(api.POST("/api/auth/logout"));
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    if (error.status !== 401) return say(error.detail, { bad: true }); // with 401 it has ended already
  }
  dropAll();
  await renew();
  say(t.signedOut);
}

/** Another caller from now on: what was read is read again. */
export async function renew(): Promise<void> {
  forget();
  for (const each of listeners) each();
  await loadSession();
  reenter();
}

// A page that the browser shows again as it was left may have been somebody else's: who signed out has left it.
globalThis.addEventListener("pageshow", (event) => {
  if ((event as PageTransitionEvent).persisted) void recheck();
});

async function recheck(): Promise<void> {
  const before = user.peek()?.id;
  await loadSession();
  if (user.peek()?.id !== before) await renew();
}

/** What a refusal says of the session: it has ended, its role is another one, or the service takes no writes. */
export function learn(problem: Problem): void {
  if (["admin_required", "reviewer_required", "passkey_required"].includes(problem.code)) void loadSession();
  if (problem.code === "read_only" && session.value) session.value = { ...session.value, read_only: true };
  if (problem.status === 401 && session.value?.user) session.value = { ...session.value, user: null };
}

/** What is read, or its refusal, from which the session learns. */
export async function withSession<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof Problem) learn(error);
    throw error;
  }
}
