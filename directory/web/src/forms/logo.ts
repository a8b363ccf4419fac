// The chosen logo: shown, checked before it is sent, and kept over a refusal and a sign-in, which no browser does.
import { word } from "../reading/words.ts";
import { draftOf, element, fieldOf, projectForm } from "./project.ts";

const KINDS = ["image/png", "image/jpeg", "image/webp"];

export function startLogo(): void {
  const form = projectForm();
  if (!form) return;
  const [field, key] = [fieldOf(form, "logo"), draftOf(form)];
  const [fault, picture] = [element("p", "error"), element("img", "monogram")];
  fault.setAttribute("role", "alert");
  fault.hidden = true;
  Object.assign(picture, { width: 48, height: 48, alt: word("The chosen logo") });
  field.closest(".logo-field")?.after(fault);
  field.addEventListener("change", () => void take());
  putBack();

  async function take(): Promise<void> {
    const file = field.files?.[0];
    const wrong = file ? faultOf(file) : "";
    fault.textContent = wrong;
    fault.hidden = !wrong;
    if (wrong) field.value = ""; // it is not sent, so that the form is not refused for it
    const data = file && !wrong ? await dataOf(file) : "";
    show(data);
    remember(key, data && file ? `${file.name}\n${data}` : "");
  }

  function show(data: string): void {
    picture.remove();
    picture.src = data;
    if (data) field.before(picture);
    form?.dispatchEvent(new Event("logo")); // the preview shows it
  }

  function putBack(): void {
    const [name = "", data = ""] = remembered(key).split("\n");
    if (!data) return;
    const files = new DataTransfer();
    files.items.add(fileOf(name, data));
    field.files = files.files;
    show(data);
    field.closest(".field")?.querySelector("[data-lost]")?.remove();
  }
}

/** What keeps a file from being a logo, as far as its size and its type show. */
function faultOf(file: File): string {
  if (!KINDS.includes(file.type)) return word("A logo is a PNG, JPEG or WebP picture. Save this one as a PNG.");
  return file.size > 2 ** 20 ? word("This file is larger than 1 MB. Save it smaller, and choose it again.") : "";
}

function dataOf(file: File): Promise<string> {
  return new Promise((resolve) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => resolve("");
    reader.readAsDataURL(file);
  });
}

function fileOf(name: string, data: string): File {
  const [head = "", body = ""] = data.split(",");
  const bytes = Uint8Array.from(atob(body), (each) => each.charCodeAt(0));
  return new File([bytes], name, { type: head.slice("data:".length).split(";")[0] });
}

function remember(key: string, text: string): void {
  try {
    if (text) sessionStorage.setItem(key, text);
    else sessionStorage.removeItem(key);
  } catch {
    // The page has the file; after a refusal it has to be chosen again.
  }
}

function remembered(key: string): string {
  try {
    return sessionStorage.getItem(key) ?? "";
  } catch {
    return "";
  }
}
