// Descriptions: Markdown as nodes of the document, never as HTML. What is no Markdown is text, character for character.
import * as smd from "streaming-markdown";


const TAGS: Partial<Record<number, string>> = {
  // Headings are of one level, the first below the page's own, whichever a text begins with.
  [smd.PARAGRAPH]: "p", [smd.HEADING_1]: "h2", [smd.HEADING_2]: "h2", [smd.HEADING_3]: "h2", [smd.HEADING_4]: "h2",
  [smd.HEADING_5]: "h2", [smd.HEADING_6]: "h2", [smd.CODE_BLOCK]: "pre", [smd.CODE_FENCE]: "pre",
  [smd.CODE_INLINE]: "code", [smd.ITALIC_AST]: "em", [smd.ITALIC_UND]: "em", [smd.STRONG_AST]: "strong",
  [smd.STRONG_UND]: "strong", [smd.STRIKE]: "s", [smd.LINK]: "a", [smd.RAW_URL]: "a", [smd.IMAGE]: "a",
  [smd.BLOCKQUOTE]: "blockquote", [smd.LINE_BREAK]: "br", [smd.RULE]: "hr", [smd.LIST_UNORDERED]: "ul",
  [smd.LIST_ORDERED]: "ol", [smd.LIST_ITEM]: "li", [smd.TABLE]: "table", [smd.TABLE_ROW]: "tr", [smd.TABLE_CELL]: "td",
};
/** Tokens within a line, with the characters that begin and end them. Without the end they are text. */
const INLINE: Partial<Record<number, [string, string]>> = {
  [smd.CODE_INLINE]: ["`", "`"], [smd.ITALIC_AST]: ["*", "*"], [smd.ITALIC_UND]: ["_", "_"],
  [smd.STRONG_AST]: ["**", "**"], [smd.STRONG_UND]: ["__", "__"], [smd.STRIKE]: ["~~", "~~"], [smd.LINK]: ["[", "]"],
  [smd.IMAGE]: ["![", "]"], [smd.EQUATION_INLINE]: ["$", "$"], [smd.EQUATION_BLOCK]: ["$$", "$$"],
};
/** An address that may be linked to; null for any other. */
type Safe = (address: string) => string | null;

const DEEPEST = 40; // tokens in one another
const WORD = /[\p{L}\p{N}]$/u;

interface Open {
  token: number;
  node: HTMLElement;
  /** How many characters were read when it began. */
  at: number;
  /** Whether it begins within a word, where an underscore is a part of the word. */
  inWord: boolean;
}

/** The nodes of a text. One that the parser cannot read, nested too deep, is a paragraph as it stands. */
export function toNodes(text: string, safe: Safe): DocumentFragment {
  const root = document.createDocumentFragment();
  try {
    parse(text, root, safe);
  } catch {
    const whole = document.createElement("p");
    whole.append(text);
    root.replaceChildren(whole);
  }
  return root;
}

function parse(text: string, root: DocumentFragment, safe: Safe): void {
  const open: Open[] = [];
  let read = 0; // characters that the parser has been given
  let written = ""; // the last text of the line
  const parent = () => open.at(-1)?.node ?? root;
  const end = () => {
    const ended = open.pop();
    if (ended) finish(ended, parent(), text.slice(Math.max(0, read - 3), read), safe);
  };
  const parser = smd.parser({
    data: null,
    add_token(_: null, token: smd.Token) {
      if (token === smd.DOCUMENT) return;
      if (open.length > DEEPEST) throw new RangeError("nested too deep");
      open.push({ token, node: document.createElement(TAGS[token] ?? "span"), at: read, inWord: WORD.test(written) });
      if (token === smd.CHECKBOX) open.at(-1)?.node.append("\u2610");
      if (!INLINE[token]) written = "";
    },
    end_token: end,
    add_text(_: null, added: string) {
      parent().append((written = added));
    },
    set_attr(_: null, name: smd.Attr, value: string) {
      const last = open.at(-1);
      if (last && (name === smd.HREF || name === smd.SRC)) last.node.dataset.address = value;
      if (last && name === smd.CHECKED) last.node.textContent = "\u2611";
      if (last && name === smd.START) last.node.setAttribute("start", String(parseInt(value, 10) || 1));
    },
  });
  for (const each of text) {
    read += each.length;
    smd.parser_write(parser, each);
  }
  read = 0; // what ends from here on ends without its characters
  smd.parser_end(parser);
  const last = open.at(-1);
  if (last?.token === smd.LINK || last?.token === smd.IMAGE) last.node.append(text.slice(text.indexOf("](", last.at)));
  while (open.length) end(); // the parser leaves open what the text does
}

/** Put a token that has ended into its parent: as its node, or as text where it was none after all. */
function finish({ token, node, inWord }: Open, parent: Node & ParentNode, last: string, safe: Safe): void {
  const address = node.dataset.address;
  delete node.dataset.address;
  const ends = INLINE[token];
  if (token === smd.LINK || token === smd.RAW_URL || token === smd.IMAGE) {
    const href = safe(address ?? "");
    if (href) return void parent.append(link(node, href));
    if (token === smd.RAW_URL) return void parent.append(...node.childNodes);
    const closed = address === undefined ? (last.includes("]") ? "]" : "") : `](${address})`;
    return void parent.append(ends?.[0] ?? "", ...node.childNodes, closed);
  }
  if (ends) {
    const closed = last.includes(ends[1][0] as string);
    const isText = !closed || (inWord && ends[0].startsWith("_")) || ends[0].startsWith("$");
    if (isText) return void parent.append(ends[0], ...node.childNodes, closed ? ends[1] : "");
  }
  parent.append(node);
}

function link(node: HTMLElement, href: string): HTMLElement {
  node.setAttribute("href", href);
  node.setAttribute("rel", "nofollow ugc noopener");
  if (!node.textContent) node.textContent = href;
  return node;
}
