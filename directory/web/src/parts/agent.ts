// The program and system that a User-Agent names, in words.
const PROGRAMS: [RegExp, string][] = [
  [/Edg\//, "Edge"], [/OPR\//, "Opera"], [/SamsungBrowser\//, "Samsung Internet"], [/Firefox\/|FxiOS\//, "Firefox"],
  [/HeadlessChrome\/|Chrome\/|CriOS\/|Chromium\//, "Chrome"], [/Safari\//, "Safari"], [/^curl\//, "curl"],
  [/^python-requests\//, "Python requests"],
];
const SYSTEMS: [RegExp, string][] = [
  [/Android/, "Android"], [/iPhone|iPad/, "iOS"], [/Windows/, "Windows"], [/Mac OS X/, "macOS"], [/CrOS/, "ChromeOS"], [/Linux/, "Linux"],
];

export function agentOf(header: string): string {
  const program = PROGRAMS.find(([pattern]) => pattern.test(header))?.[1] ?? header.split(/[/\s(]/)[0]?.slice(0, 40) ?? "";
  const system = SYSTEMS.find(([pattern]) => pattern.test(header))?.[1];
  return system ? `${program} · ${system}` : program;
}
