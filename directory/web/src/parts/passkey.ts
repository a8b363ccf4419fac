// Passkeys as the browser makes them and signs with them. The options and the answers are the API's, as they are.

/** Whether this browser has passkeys at this address: an address of numbers has none. */
export function hasPasskeys(): boolean {
  const can = typeof PublicKeyCredential === "function" && "parseRequestOptionsFromJSON" in PublicKeyCredential;
  return can && !/^[\d.]+$|^\[/.test(location.hostname);
}

/** A new passkey, as the API takes it. Throws where the person cancels. */
export async function createPasskey(options: unknown): Promise<Record<string, unknown>> {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options as PublicKeyCredentialCreationOptionsJSON);
  return answer(await navigator.credentials.create({ publicKey }));
}

/** The answer of a passkey to a sign-in, as the API takes it. Throws where the person cancels. */
export async function askPasskey(options: unknown): Promise<Record<string, unknown>> {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options as PublicKeyCredentialRequestOptionsJSON);
  return answer(await navigator.credentials.get({ publicKey }));
}

function answer(credential: Credential | null): Record<string, unknown> {
  return (credential as PublicKeyCredential).toJSON() as Record<string, unknown>;
}
