import { Empty } from "./states.tsx";
import { t } from "../text.ts";

export function NotFound() {
  return <div class="wide"><Empty whole title={t.notFound} why={t.notFoundWhy}><a class="button" href="/">{t.toDirectory}</a></Empty></div>;
}
