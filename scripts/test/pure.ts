import { findReachable, type Module, type Sources } from "../imports.ts";

/** Built-in modules that access nothing outside the process except files. */
const BUILT_IN = new Set(
  "assert assert/strict async_hooks buffer crypto events fs fs/promises module os path stream stream/consumers stream/promises stream/web string_decoder test timers timers/promises url util zlib"
    .split(" ")
    .map((name) => `node:${name}`),
);
/** Pure functions of modules that otherwise open sockets. */
const NAMES = new Set(["node:net isIP", "node:net isIPv4", "node:net isIPv6", "node:net BlockList"]);
/** Pure packages. Any other package may open a socket or change the process. */
const PACKAGES = new Set([
  "@hono/zod-openapi",
  "ajv",
  "ajv-formats",
  "croner",
  "dns-packet",
  "fast-check",
  "fast-xml-parser",
  "hono",
  "jsonc-parser",
  "kysely",
  "mimetext",
  "mmdb-lib",
  "nodemailer/lib/mime-funcs",
  "pino",
  "postal-mime",
  "re2js",
  "smol-toml",
  "zod",
]);
/** Uses of globals that open connections or start threads. */
const CONNECTIONS = [/\bfetch\(/, /\bnew (WebSocket|Worker|EventSource)\(/];
/** Changes to process-wide state, which other test files would notice. */
export const PROCESS_STATE = [
  /\bprocess\.(?!env\b|platform\b|version|arch\b|nextTick\b|pid\b|cwd\b|get\w+\b|execPath\b|stdout\b|stderr\b|memoryUsage\b|hrtime\b)[a-z]/,
  /\bprocess\.env(\.\w+|\[[^\]]+\])\s*(\?\?|\|\|)?=[^=]/,
  /\b(delete|Object\.assign\() ?process\.env\b/,
  /\b(globalThis|global)(\.\w+|\[[^\]]+\])\s*=[^=]/,
  /\.prototype\.\w+\s*=[^=]/,
];
const SHARED_STATE = [...CONNECTIONS, ...PROCESS_STATE];
/** In a test file: hooks and mocks for every test in the process, and measurements disturbed by other tests. */
const OF_THE_PROCESS = [/^(before|after)(Each)?\(/m, /\bmock\./, /\bperformance\b|memoryUsage|hrtime/, /\bgc\(/];

/**
 * Returns the reason a test file needs a separate process, or undefined if it can share one: neither the file nor any
 * code it imports by name opens a socket, starts a process, thread or database, or changes the state of the process.
 */
export function impurity(sources: Sources, file: string): string | undefined {
  const text = sources.get(file)!.text;
  const hook = OF_THE_PROCESS.find((pattern) => pattern.test(text));
  if (hook !== undefined) return `${file} matches ${hook.source}`;
  for (const reached of findReachable(sources, file)) {
    const module = sources.get(reached);
    if (module !== undefined) {
      const state = sharedState(module);
      if (state !== undefined) return `${reached} matches ${state.source}`;
    } else if (!computes(reached)) return `imports ${reached}`;
  }
  return undefined;
}

function computes(reached: string): boolean {
  const [specifier] = reached.split(" ") as [string];
  const name = /^(@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier;
  return BUILT_IN.has(specifier) || NAMES.has(reached) || PACKAGES.has(specifier) || PACKAGES.has(name);
}

const states = new WeakMap<Module, RegExp | false>();

function sharedState(module: Module): RegExp | undefined {
  let found = states.get(module);
  if (found === undefined) {
    const code = module.text.replaceAll(/^\s*(\/\/|\*|\/\*\*).*$/gm, "");
    found = SHARED_STATE.find((pattern) => pattern.test(code)) ?? false;
    states.set(module, found);
  }
  return found === false ? undefined : found;
}
