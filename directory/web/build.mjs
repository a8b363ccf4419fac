// Bundles the pages into dist/: hashed files under assets/, each also compressed, and a listing of the files of each entry.
import { build } from "esbuild";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const ROOT = dirname(fileURLToPath(import.meta.url));
const OUT = join(ROOT, "dist");
const DRAFT = join(ROOT, `.dist.${process.pid}`);
const SHARED = {
  absWorkingDir: ROOT,
  outdir: "dist/assets",
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  bundle: true,
  splitting: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  // Signals' own hooks are not used: state lives in signals. Without them Preact's are not needed either.
  alias: { "preact/hooks": "./src/no-hooks.ts" },
  minify: true,
  // Only `make dev` sets this: a released page carries no sources.
  sourcemap: process.env.WEB_SOURCE_MAPS ? "inline" : false,
  metafile: true,
  write: false,
  logLevel: "silent",
  legalComments: "none",
};
// Each has its own build: a file that two of them share would be one more for each page to load.
const ENTRIES = { reading: "src/reading/main.ts", forms: "src/forms/main.ts", console: "src/console/main.tsx" };

// The most KB, compressed, that the files of an entry may have: see CONTRIBUTING.md.
const BUDGETS = JSON.parse(await readFile(join(ROOT, "budgets.json"), "utf8"));
const GRACE = 1; // KB above a budget that only warn; more than that fails

const began = performance.now();
const entries = Object.entries(ENTRIES);
const builds = await Promise.all(
  entries.map(([out, from]) => build({ ...SHARED, entryPoints: [{ in: from, out }] })),
).catch(report);
const outputs = Object.assign({}, ...builds.map((each) => each.metafile.outputs));
const files = new Map(builds.flatMap((each) => each.outputFiles).map((file) => [basename(file.path), file.contents]));
const compressed = new Map([...files].map(([name, contents]) => [name, gzipSync(contents, { level: 9 })]));
const listing = Object.fromEntries(entries.map(([name, source]) => [name, listed(source)]));
const weights = entries.flatMap(([name]) => Object.entries(BUDGETS[name]).map(([kind, most]) => weighed(name, kind, most)));
for (const each of weights) console.log(each.line);
// `make dev` puts the sources into the scripts, so their weight says nothing there.
if (!SHARED.sourcemap && weights.some((each) => each.over > GRACE)) process.exit(1);

await mkdir(join(DRAFT, "assets"), { recursive: true });
for (const [name, contents] of files) {
  await writeFile(join(DRAFT, "assets", name), contents);
  await writeFile(join(DRAFT, "assets", `${name}.gz`), compressed.get(name));
}

await writeFile(join(DRAFT, "pages.json"), JSON.stringify(listing));
await rm(OUT, { recursive: true, force: true });
await rename(DRAFT, OUT);
console.log(`Pages built in ${Math.round(performance.now() - began)} ms.`);

// Print each error of esbuild as a compiler does, `file:line:column: error: text`, and end.
function report({ errors = [], message }) {
  const lines = errors.map(({ location, text }) =>
    location ? `${location.file}:${location.line}:${location.column + 1}: error: ${text}` : `error: ${text}`,
  );
  console.error([...new Set(lines)].join("\n") || message);
  process.exit(1);
}

// The files of an entry: its style sheet and its script, and what that imports, to be loaded ahead of need.
function listed(source) {
  const script = outputOf(source);
  return { style: address(outputs[script].cssBundle), script: address(script), preload: [...new Set(importsOf(script))].map(address) };
}

// What the files of a kind weigh in an entry, as a line to print, and by how many KB that is above its budget.
function weighed(name, kind, most) {
  const { style, script, preload } = listing[name];
  const kept = [style, script, ...preload].map((path) => basename(path)).filter((path) => path.endsWith(`.${kind}`));
  const kb = kept.reduce((sum, path) => sum + compressed.get(path).length, 0) / 1024;
  const over = kb - most;
  const verdict = over > GRACE ? "error: over its budget, " : over > 0 ? "warning: over its budget, " : "";
  return { over, line: `${verdict}${name}.${kind}: ${kb.toFixed(1)} of at most ${most} KB` };
}

function outputOf(source) {
  return Object.keys(outputs).find((path) => outputs[path].entryPoint === source);
}

function importsOf(output) {
  const paths = outputs[output].imports.filter((each) => each.kind === "import-statement").map((each) => each.path);
  return paths.flatMap((path) => [path, ...importsOf(path)]);
}

function address(path) {
  return path.replace(/^dist/, "");
}
