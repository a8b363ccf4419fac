// Passkeys as the browser makes them and signs with them, in the form of the API, which is that of WebAuthn in JSON.
//
// The browser's own `parseCreationOptionsFromJSON`, `parseRequestOptionsFromJSON` and `toJSON` are not used: browsers
// that we support lack them (docs/support.md), and credentials of password managers often have a `toJSON` that throws.

/** Why a passkey cannot be used, as a sentence for the person. */
export class PasskeyFailed extends Error {
  constructor(readonly text: string, readonly reason = "") {
    super(text.replace("{reason}", reason));
  }
}

/** Why a passkey failed, in the words of `word`; empty for any other error. */
export function whyFailed(error: unknown, word: (text: string, facts: Record<string, string>) => string): string {
  return error instanceof PasskeyFailed ? word(error.text, { reason: error.reason }) : "";
}

type Json = Record<string, unknown>;

/** Whether this browser has passkeys at this address: an address of numbers has none. */
export function hasPasskeys(): boolean {
  return typeof PublicKeyCredential === "function" && !/^[\d.]+$|^\[/.test(location.hostname);
}

/** This page at `localhost`, if passkeys work there; empty unless it is open at a number of this machine. */
export function atLocalhost(): string {
  if (!document.querySelector("[data-local]") || !/^127\.[\d.]+$|^\[::1\]$/.test(location.hostname)) return "";
  const port = location.port && `:${location.port}`;
  return `${location.protocol}//localhost${port}${location.pathname}${location.search}`;
}

/** A new passkey, as the API takes it. Throws a DOMException where the person cancels, PasskeyFailed otherwise. */
export async function createPasskey(options: unknown): Promise<Json> {
  const publicKey = options as Json & { user: Json };
  return await answer(() => navigator.credentials.create({
    publicKey: {
      ...publicKey,
      challenge: bytes(publicKey.challenge),
      user: { ...publicKey.user, id: bytes(publicKey.user.id) },
      excludeCredentials: described(publicKey.excludeCredentials),
    } as unknown as PublicKeyCredentialCreationOptions,
  }));
}

/** The answer of a passkey to a sign-in, as the API takes it. Throws as `createPasskey` does. */
export async function askPasskey(options: unknown): Promise<Json> {
  const publicKey = options as Json;
  return await answer(() => navigator.credentials.get({
    publicKey: {
      ...publicKey,
      challenge: bytes(publicKey.challenge),
      allowCredentials: described(publicKey.allowCredentials),
    } as unknown as PublicKeyCredentialRequestOptions,
  }));
}

function described(credentials: unknown): Json[] {
  return ((credentials ?? []) as Json[]).map((one) => ({ ...one, id: bytes(one.id) }));
}

async function answer(ask: () => Promise<Credential | null>): Promise<Json> {
  try {
    return read(await ask() as PublicKeyCredential);
  } catch (error) {
    const name = error instanceof DOMException ? error.name : "";
    if (name === "NotAllowedError" || name === "AbortError") throw error;
    if (name === "InvalidStateError") throw new PasskeyFailed("This device has a passkey for your account already.");
    throw new PasskeyFailed("Your browser or password manager made no passkey that can be used: {reason}", (error as Error)?.message || String(error));
  }
}

/** The members that the API needs. They are the prototype's, so they are read one by one. */
function read({ rawId, response }: PublicKeyCredential): Json {
  const names = "attestationObject" in response ? ["attestationObject"] : ["authenticatorData", "signature", "userHandle"];
  const given = response as unknown as Record<string, ArrayBuffer | null>;
  const members = ["clientDataJSON", ...names].filter((name) => name !== "userHandle" || given[name]);
  const id = text(rawId);
  return {
    id, rawId: id, type: "public-key", clientExtensionResults: {},
    response: Object.fromEntries(members.map((name) => [name, text(given[name])])),
  };
}

/** Bytes in base64url, without padding. */
function text(data: ArrayBuffer | ArrayBufferView | null | undefined): string {
  if (!data) throw new TypeError("a member of it is missing");
  const view = ArrayBuffer.isView(data) ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength) : new Uint8Array(data);
  const binary = Array.from(view, (one) => String.fromCharCode(one)).join("");
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function bytes(text: unknown): Uint8Array {
  return Uint8Array.from(atob(String(text).replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0));
}
