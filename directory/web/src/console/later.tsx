// A page whose code is loaded when it is opened first, so that the queue has less to load.
import { Problem } from "../api/client.ts";
import { Failed, Skeleton } from "../parts/states.tsx";
import { Resource } from "../state/resource.ts";
import { address, type Page } from "../state/router.ts";
import { t } from "../text.ts";
import { Frame } from "./frame.tsx";

/** `load` imports it; until then its title is `name`. */
export function later(name: string, load: () => Promise<Page>): Page {
  const page = new Resource<Page>();
  const unreachable = () => Promise.reject(new Problem(0, "unreachable", t.unreachable, t.unreachableDetail));
  return {
    enter: async (match, query) => {
      const { href } = address.peek();
      if (!page.data.peek()) await page.load(`page ${name}`, () => load().catch(unreachable));
      if (address.peek().href === href) page.data.peek()?.enter?.(match, query);
    },
    view: () => {
      const View = page.data.value?.view;
      if (View) return <View />;
      const problem = page.problem.value;
      return <Frame title={name}>{problem ? <Failed problem={problem} again={() => location.reload()} /> : <Skeleton rows={3} />}</Frame>;
    },
    title: () => page.data.value?.title() ?? name,
  };
}
