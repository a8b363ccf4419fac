// The button that adds rows to a list. It keeps the focus; the last rows take its place, and the first of them the focus.
import { Problem } from "../api/client.ts";
import { say } from "../state/notice.ts";
import { t } from "../text.ts";

interface MoreProps {
  /** Adds the rows. Throws a Problem. */
  add: () => Promise<void>;
  /** The links of the rows, as a selector. */
  links: string;
}

export function More({ add, links }: MoreProps) {
  const press = async (event: MouseEvent) => {
    const button = event.currentTarget as HTMLElement;
    const before = document.querySelectorAll(links).length;
    try {
      await add();
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      return say(`${error.title}. ${error.detail}`, { bad: true });
    }
    requestAnimationFrame(() => {
      if (!button.isConnected && document.activeElement === document.body) document.querySelectorAll<HTMLElement>(links)[before]?.focus();
    });
  };
  return <button type="button" class="button block" onClick={(event) => void press(event)}>{t.more}</button>;
}
