import { chmod, cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FREE_PORTS, freePort } from "../support/free-ports.ts";
import { installPackage } from "../support/package-folder.ts";
import { programEntry } from "../support/program.ts";
import { WRANGLER_NODE_OPTIONS } from "../support/wrangler.ts";

const root = join(import.meta.dirname, "..", "..");
/** Clients that users already have installed; a new project uses the packages installed here. */
const clients = join(root, "test", "clients", "node_modules");

const NPM = `case "$*" in
  install | ci) ln -sfn "${root}/node_modules" node_modules ;;
  "install cloudflare") mkdir -p node_modules && ln -sfn "${clients}/cloudflare" node_modules/cloudflare ;;
  *) echo "npm: the pages use 'npm install', 'npm ci' and 'npm install cloudflare' only" >&2; exit 1 ;;
esac`;

/**
 * `login` prompts on a terminal, which the commands in a page do not have, so the run passes in the values that the
 * server printed.
 */
const reelpost = ({ http, smtp }: { http: number; smtp: number }) => `case "\${1-}" in
  dev | serve) command=$1; shift; set -- "$command" --port ${http} --smtp-port ${smtp} "$@" ;;
  login) set -- "$@" --url "$SERVER_URL" --token "$SERVER_TOKEN" ;;
esac
exec "${process.execPath}" "${programEntry}" "$@"`;

/** Lines that a server prints when it is ready, or that `tail` prints when it is connected. */
export const readyLine = /http:\/\/127\.0\.0\.1:\d+|^connected to /m;

interface PageEnvironment {
  /** An empty directory except for `examples/`. */
  dir: string;
  env: NodeJS.ProcessEnv;
  /** Replaces the default ports in a page, which a test run must not use. */
  localize(text: string): string;
  close(): Promise<void>;
}

/**
 * Sets up a reader's working environment: uses this checkout instead of the published package, and free ports for its
 * servers. `importsPackage`: the code of the page imports the package.
 */
export async function setUpEnvironment({ importsPackage = false } = {}): Promise<PageEnvironment> {
  const dir = await mkdtemp(join(tmpdir(), "reelpost-docs-"));
  const [http, smtp, other, submission, dns] = await Promise.all(Array.from({ length: 5 }, freePort));
  const tools = join(dir, ".tools");
  await mkdir(tools);
  await cp(join(root, "examples"), join(dir, "examples"), {
    recursive: true,
    filter: (path) => !path.includes(".reelpost") && !path.includes("node_modules"),
  });
  if (importsPackage) await installPackage(dir);
  else await symlink(join(root, "node_modules"), join(dir, "node_modules"));
  await tool("reelpost", reelpost({ http: http!, smtp: smtp! }));
  await tool(
    "npx",
    `case "\${1-}" in\n  reelpost | tsc) exec "$@" ;;\n  wrangler) shift; exec "${process.execPath}" ${WRANGLER_NODE_OPTIONS.map((option) => `"${option}"`).join(" ")} "${clients}/wrangler/bin/wrangler.js" "$@" ;;\nesac\necho "npx: the pages run reelpost, tsc and wrangler only" >&2\nexit 1`,
  );
  await tool("npm", NPM);

  // A progress meter would appear between the lines being compared.
  await writeFile(join(dir, ".curlrc"), "silent\nshow-error\n");

  const local: Record<string, string> = {
    "8787": String(http),
    "2525": String(smtp),
    "9099": String(other),
    "2465": String(submission),
    "1053": String(dns),
  };
  const localize = (text: string) => text.replace(/\b(8787|2525|9099|2465|1053)\b/g, (port) => local[port]!);
  const notifier = join(dir, "examples", "notifier", "wrangler.jsonc");
  await writeFile(notifier, localize(await readFile(notifier, "utf8")));
  return {
    dir,
    env: {
      ...process.env,
      ...serverEnv(submission!, dns!),
      PATH: `${tools}:${join(root, "node_modules", ".bin")}:${process.env.PATH}`,
      HOME: dir,
      // Otherwise `node --test` on a page would report to this test run.
      NODE_TEST_CONTEXT: undefined,
      NO_COLOR: "1",
      WRANGLER_SEND_METRICS: "false",
      WRANGLER_SEND_ERROR_REPORTS: "false",
    },
    localize,
    close: () => rm(dir, { recursive: true, force: true }),
  };

  async function tool(name: string, script: string) {
    await writeFile(join(tools, name), `#!/bin/sh\n${script}\n`);
    await chmod(join(tools, name), 0o755);
  }
}

/**
 * Settings for which `serve` has no option. No page queries public DNS: no resolver responds here, so the server uses
 * its own zones.
 */
const serverEnv = (submission: number, dns: number) => ({
  ...FREE_PORTS,
  REELPOST_SUBMISSION_PORT: String(submission),
  REELPOST_DNS_PORT: String(dns),
  REELPOST_DNS_RESOLVERS: "127.0.0.1:9",
});
