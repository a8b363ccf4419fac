// A service in the place of the network, and what a browser has that Deno has not.
export interface Deferred<T> {
  promise: Promise<T>;
  resolve: (value: T) => void;
}

export function deferred<T>(): Deferred<T> {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((done) => (resolve = done));
  return { promise, resolve };
}

export function assertEquals(found: unknown, wanted: unknown, what = ""): void {
  const [left, right] = [found, wanted].map((each) => JSON.stringify(each, (_, value) => value === undefined ? "undefined" : value));
  if (left !== right) throw new Error(`${what} ${left} is not ${right}`);
}

// The pauses of the code under test (before a search, before a decision is sent) end when a test says so.
const held = new Map<number, { act: () => void; wait: number }>();
const [later, never] = [globalThis.setTimeout, globalThis.clearTimeout];
let timers = 1_000_000_000;
Object.assign(globalThis, {
  setTimeout: (act: () => void, wait = 0) => (wait ? (held.set(++timers, { act, wait }), timers) : later(act, 0)),
  clearTimeout: (timer: number) => (held.delete(timer) ? undefined : never(timer)),
});

/** The timers that wait for so many milliseconds. */
function waiting(wait: number): number[] {
  return [...held].filter(([, each]) => each.wait === wait).map(([timer]) => timer);
}

/** End the pauses of so many milliseconds, and wait until all calls that follow are answered. */
export function elapse(wait: number): Promise<void> {
  for (const timer of waiting(wait)) {
    const { act } = held.get(timer)!;
    held.delete(timer);
    act();
  }
  return server.idle();
}

/** How many pauses of so many milliseconds have not ended. */
export function pauses(wait: number): number {
  return waiting(wait).length;
}

/** Let all go on that waits for nothing from outside. */
function turn(): Promise<void> {
  return new Promise((done) => later(done, 0));
}

/** Let all go on for a while, to see that nothing more happens. */
export async function turns(): Promise<void> {
  for (let n = 0; n < 20; n++) await turn();
}

/** Wait until it is so. */
export async function until(holds: () => unknown): Promise<void> {
  while (!holds()) await turn();
}

type Handler = (request: Request) => unknown;
const handlers = new Map<string, Handler>();
let open = 0; // calls whose answers are not read yet

export const server = {
  calls: [] as string[],
  /** Answer a method and path with what the handler returns: data, a promise of them, or a Response. */
  on(call: string, handler: Handler): void {
    handlers.set(call, handler);
  },
  problem(status: number, code: string, detail: string, errors: object[] = []): Response {
    return Response.json({ title: code, status, detail, code, errors }, { status });
  },
  page(items: object[]): object {
    return { items, pagination: { total: items.length, total_capped: false, next_cursor: null } };
  },
  /** Wait until every call is answered, and what waits for the answers has gone on. */
  async idle(): Promise<void> {
    do await turn(); while (open);
    await turn();
  },
};

export function reset(): void {
  handlers.clear();
  server.calls.length = 0;
}

globalThis.fetch = async (input) => {
  const request = input as Request;
  const call = `${request.method} ${new URL(request.url).pathname}`;
  server.calls.push(call);
  open++;
  try {
    const handler = handlers.get(call);
    if (!handler) throw new TypeError(`nothing answers ${call}`);
    const answer = await handler(request);
    return read(answer instanceof Response ? answer : Response.json(answer));
  } catch (error) {
    open--;
    throw error;
  }
};

/** The answer, whose call is open until its body is read. */
function read(response: Response): Response {
  if (response.status === 204) open--;
  else {
    for (const name of ["json", "text"] as const) {
      const real = response[name].bind(response);
      response[name] = () => real().finally(() => open--);
    }
  }
  return response;
}

Object.assign(globalThis, {
  history: { state: null, pushState() {}, replaceState() {} },
  document: { addEventListener() {}, getElementById: () => null },
  requestAnimationFrame: (act: () => void) => setTimeout(act, 0),
});
localStorage.clear();
