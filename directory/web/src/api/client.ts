// Calls of the API: typed by its OpenAPI document, and every failure a Problem.
import createClient from "openapi-fetch";
import { t } from "../text.ts";
import type { components, paths } from "./schema.d.ts";

export type Schemas = components["schemas"];
/** The body of a successful GET of a path. */
export type Got<Path extends keyof paths> = paths[Path] extends { get: { responses: { 200: { content: { "application/json": infer Body } } } } } ? Body : never;

/** A refusal, as the API's problem documents say it, or a failure of the way to the API. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly title: string,
    readonly detail: string,
    readonly requestId = "",
    readonly body: Record<string, any> = {},
  ) {
    super(`${title}: ${detail}`);
  }

  /** What is refused of a body, by the field's name; "" for what belongs to no field. */
  get fields(): Record<string, string> {
    const found: Record<string, string> = {};
    for (const each of this.body.errors ?? []) {
      const name = String(each.pointer ?? each.parameter ?? "").replace(/^#\//, "").split("/")[0] ?? "";
      found[name] = found[name] ? `${found[name]} ${each.detail}` : each.detail;
    }
    return found;
  }
}

export const api = createClient<paths>({ baseUrl: "" });

/** Whether a failure is one of an answer that nobody waits for any more. */
export function aborted(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

/** The data of an answer. Throws a Problem, and AbortError where the call was given up. */
export async function ask<T>(call: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
  return (await askWhole(call)).data;
}

/** The data of an answer with its response. Throws as `ask` does. */
export async function askWhole<T>(
  call: Promise<{ data?: T; error?: unknown; response: Response }>,
): Promise<{ data: T; response: Response }> {
  let answer;
  try {
    answer = await call;
  } catch (error) {
    if (aborted(error)) throw error;
    throw new Problem(0, "unreachable", t.unreachable, t.unreachableDetail);
  }
  if (answer.response.ok) return { data: answer.data as T, response: answer.response };
  throw problemOf(answer.error, answer.response);
}

/** The Problem that a refused answer is, also where something before the API refused it. */
export function problemOf(body: unknown, response: Response): Problem {
  const id = response.headers.get("X-Request-ID") ?? "";
  if (body && typeof body === "object" && "code" in body) {
    const { code, title, detail } = body as Record<string, string>;
    return new Problem(response.status, code ?? "", title ?? "", code === "unauthenticated" ? t.sessionEnded : detail ?? "", id, body);
  }
  return new Problem(response.status, "unknown", t.refused, t.refusedDetail(response.status), id);
}
