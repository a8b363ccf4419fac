// A project's logo, or its letters on a colour that is always the same for it; logos of other hosts are never loaded.
import type { Schemas } from "../api/client.ts";
import { letters, tint } from "./letters.ts";

export type Logo = Schemas["ProjectDetail"]["logo"];

export function Monogram({ name, logo, large = false }: { name: string; logo?: Logo; large?: boolean }) {
  const side = large ? 64 : 48;
  if (logo) return <img class={`monogram${large ? " large" : ""}`} src={logo[large ? "256" : "64"]} width={side} height={side} alt="" />;
  return (
    <span class={`monogram tint-${tint(name)}${large ? " large" : ""}`} aria-hidden="true">{letters(name)}</span>
  );
}
