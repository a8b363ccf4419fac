// What scripts say, in the language of the page: its body has the translations, where it is not in plain English.
type Words = Record<string, string | string[]>;
const ORDER = ["zero", "one", "two", "few", "many", "other"]; // of the forms of a plural, as catalogues have them
let known: Words | undefined;

/** The tag of the page's language, with the digits that the service writes. */
export const language = (): string => `${document.documentElement.lang || "en"}-u-nu-latn`;

/** A number, as the service writes it. */
export const numeral = (number: number): string => new Intl.NumberFormat(language()).format(number);

/** A text in the language of the page, with values in the place of its placeholders. */
export function word(text: string, facts: Record<string, string> = {}): string {
  const found = words()[text];
  return filled(typeof found === "string" ? found : text, facts);
}

/** Sentences one after the other: not every language has a space between them. */
export const sentences = (...texts: string[]): string => texts.join((words()[" "] ?? " ") as string);

/** A text that depends on a number, which is also the value of {number}. */
export function counted(one: string, many: string, number: number, facts: Record<string, string> = {}): string {
  const rules = new Intl.PluralRules(language());
  const kinds = ORDER.filter((each) => (rules.resolvedOptions().pluralCategories as string[]).includes(each));
  const found = words()[one];
  const forms = Array.isArray(found) ? found : undefined;
  const text = forms ? forms[Math.min(kinds.indexOf(rules.select(number)), forms.length - 1)] : number === 1 ? one : many;
  return filled(text ?? many, { ...facts, number: numeral(number) });
}

/** The parts of a text around an element in the place of a placeholder. */
export function around(text: string, placeholder: string, shown: Node): (Node | string)[] {
  const [before = "", after = ""] = word(text).split(`{${placeholder}}`);
  return [before, shown, after];
}

function words(): Words {
  return known ??= JSON.parse(document.body.dataset.words ?? "{}") as Words;
}

/** From right to left values are kept apart from the text around them, as the service does it. */
function filled(text: string, facts: Record<string, string>): string {
  const [open, end] = document.documentElement.dir === "rtl" ? ["\u2068", "\u2069"] : ["", ""];
  return text.replace(/\{(\w+)\}/g, (all, name: string) => name in facts ? `${open}${facts[name]}${end}` : all);
}
