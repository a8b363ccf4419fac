// Has Lighthouse audit pages. Each line of standard input asks for one, as JSON: {port, address, cookie, profile, report}.
// Each line of the output answers one: {} once the report is written, {"error": …} where there is none.
import { writeFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import lighthouse, { desktopConfig } from "lighthouse";

const CONFIGS = {
  mobile: undefined, // Lighthouse's own: a phone of the middle class on slow 4G, both simulated
  desktop: { ...desktopConfig, settings: { ...desktopConfig.settings, throttlingMethod: "provided" } },
};

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await audit(JSON.parse(line))));
}
process.exit(0);

async function audit({ port, address, cookie, profile, report }) {
  const flags = { port, logLevel: "silent", disableFullPageScreenshot: true, extraHeaders: cookie ? { Cookie: cookie } : null };
  try {
    const { lhr } = await lighthouse(address, flags, CONFIGS[profile]);
    await writeFile(report, JSON.stringify(lhr));
    return lhr.runtimeError ? { error: lhr.runtimeError.message } : {};
  } catch (error) {
    return { error: String(error) };
  }
}
