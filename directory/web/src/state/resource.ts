// What a page reads from the API: the data, whether more is on its way, and why it failed.
import { batch, signal } from "@preact/signals";
import { aborted, Problem } from "../api/client.ts";

const MOST = 60; // answers that are remembered, for going back
const memory = new Map<string, unknown>();

/** Forget every answer: another caller may get others. */
export function forget(): void {
  memory.clear();
}

/** The answer under a key, if it is remembered. */
export function remembered<T>(key: string): T | undefined {
  return memory.get(key) as T | undefined;
}

/** One thing that a page reads. A key names what it is; an answer is remembered by it. */
export class Resource<T> {
  readonly data = signal<T | undefined>(undefined);
  readonly problem = signal<Problem | null>(null);
  readonly busy = signal(false);
  #key = "";
  #fetch: ((signal: AbortSignal) => Promise<T>) | null = null;
  #abort: AbortController | null = null;

  /** `keep`: while another key loads, the old data are shown. Without it they are another thing's. */
  constructor(private readonly keep = false) {}

  /** Read what the key names. What is remembered shows at once, and is read again. */
  async load(key: string, fetch: (signal: AbortSignal) => Promise<T>): Promise<void> {
    this.#abort?.abort();
    const own = (this.#abort = new AbortController());
    this.#fetch = fetch;
    batch(() => {
      const known = remembered<T>(key);
      if (known !== undefined) this.data.value = known;
      else if (key !== this.#key && !this.keep) this.data.value = undefined;
      this.#key = key;
      this.busy.value = true;
      this.problem.value = null;
    });
    try {
      const data = await fetch(own.signal);
      if (this.#abort === own) this.set(data);
    } catch (error) {
      if (this.#abort !== own || aborted(error)) return;
      if (!(error instanceof Problem)) throw error;
      batch(() => {
        this.problem.value = error;
        this.busy.value = false;
      });
    }
  }

  /** Read the same again. */
  again(): Promise<void> {
    return this.#fetch ? this.load(this.#key, this.#fetch) : Promise.resolve();
  }

  /** Show and remember data that are known without a read. */
  set(data: T): void {
    batch(() => {
      this.data.value = data;
      this.problem.value = null;
      this.busy.value = false;
    });
    memory.delete(this.#key);
    memory.set(this.#key, data);
    if (memory.size > MOST) memory.delete(memory.keys().next().value as string);
  }

  /** Show nothing, and wait for nothing. */
  clear(): void {
    this.#abort?.abort();
    this.#abort = this.#fetch = null;
    this.#key = "";
    batch(() => {
      this.data.value = undefined;
      this.problem.value = null;
      this.busy.value = false;
    });
  }
}
