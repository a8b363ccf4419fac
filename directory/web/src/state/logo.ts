// The logo that was chosen in the form of a project, and sending it.
import { signal } from "@preact/signals";
import { api, ask, Problem } from "../api/client.ts";
import { f } from "../text.forms.ts";

export const KINDS = ["image/png", "image/jpeg", "image/webp"];
export const logo = signal<File | "remove" | null>(null); // what the logo becomes; null leaves it
export const logoPicture = signal(""); // the chosen file as a data: address, which the policy lets an image have
export const logoFault = signal(""); // what is wrong with the file

/** Take over a file that was chosen. */
export function chooseLogo(file: File | undefined): void {
  const fault = file ? faultOf(file) : "";
  logo.value = fault ? null : file ?? null;
  logoFault.value = fault;
  logoPicture.value = "";
  if (!file || fault) return;
  const reader = new FileReader();
  reader.onload = () => {
    if (logo.peek() === file) logoPicture.value = String(reader.result);
  };
  reader.readAsDataURL(file);
}

/** What keeps a file from being a logo, as far as its size and its type tell. */
function faultOf(file: File): string {
  if (!KINDS.includes(file.type)) return f.logoKind;
  return file.size > 2 ** 20 ? f.logoLarge : "";
}

/** Send the logo of a new project, which stays without one where it is refused: why, in words. */
export async function problemOfLogo(id: number): Promise<string> {
  try {
    await sendLogo(id);
    return "";
  } catch (error) {
    if (error instanceof Problem) return error.detail;
    throw error;
  }
}

/** Send the logo that was chosen, and say whether there was one. A refusal of it is shown at its field. */
export async function sendLogo(id: number, etag = ""): Promise<boolean> {
  const chosen = logo.peek();
  if (!chosen) return false;
  const params = { path: { project_id: id } };
  const headers: Record<string, string> = etag ? { "If-Match": etag } : {};
  const path = "/api/projects/{project_id}/logo";
  // The types of the document know bytes as a string; the serializer gives the file itself.
  const upload = (file: File) => api.PUT(path, { params, headers: { ...headers, "Content-Type": file.type }, body: "", bodySerializer: () => file });
  try {
    await (chosen === "remove" ? ask(api.DELETE(path, { params, headers })) : ask(upload(chosen)));
  } catch (error) {
    if (error instanceof Problem && [413, 415, 422].includes(error.status)) error.body.errors = [{ pointer: "#/logo", detail: error.detail }];
    throw error;
  }
  logo.value = null;
  return true;
}
