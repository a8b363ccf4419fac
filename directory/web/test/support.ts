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

type Handler = (request: Request) => unknown;
const handlers = new Map<string, Handler>();
let open = 0;

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
    do await new Promise((done) => setTimeout(done, 5)); while (open);
    await new Promise((done) => setTimeout(done, 5));
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
    return answer instanceof Response ? answer : Response.json(answer);
  } finally {
    open--;
  }
};

Object.assign(globalThis, {
  history: { state: null, pushState() {}, replaceState() {} },
  document: { addEventListener() {} },
  requestAnimationFrame: (act: () => void) => setTimeout(act, 0),
});
localStorage.clear();
