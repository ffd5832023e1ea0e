/**
 * Checks for the system packages required by the program and its tests; as root on Debian or Ubuntu, installs them.
 *
 *     node scripts/system.ts start      requirements of `npm start`
 *     node scripts/system.ts test       requirements of `npm test`
 */
import { spawnSync, type SpawnSyncReturns } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

type Purpose = "start" | "test";

interface Need {
  name: string;
  for: Purpose[];
  /** The feature that is unavailable without the package, in one line. */
  without: string;
  /** Nothing is missing without the package; it only saves time. */
  optional?: boolean;
  found(): boolean;
  /** One name, or several separated by spaces. */
  debianPackage: string;
  install(apt: Apt): void;
}

const needs: Need[] = [
  {
    name: "PostgreSQL",
    for: ["test"],
    without: "the suites that run on PostgreSQL are skipped",
    found: () => findPostgres() !== undefined,
    debianPackage: "postgresql",
    install: installPostgres,
  },
  ...[
    {
      name: "Knot DNS",
      program: "knotd",
      debianPackage: "knot",
      without: "dynamic updates of DNS (RFC 2136) are not tried on a real server",
    },
    {
      name: "Ceph",
      found: () => hasCeph(),
      debianPackage: "radosgw ceph-mon ceph-osd",
      without: "objects are not stored on a real S3 server",
    },
    { name: "dig", program: "dig", debianPackage: "bind9-dnsutils", without: "the DNS server is not asked by dig" },
    {
      name: "OpenSSL",
      program: "openssl",
      debianPackage: "openssl",
      without: "STARTTLS is not spoken with openssl s_client",
    },
    {
      name: "PgBouncer",
      program: "pgbouncer",
      debianPackage: "pgbouncer",
      without: "the database is not reached through a pooler",
    },
    { name: "swaks", program: "swaks", debianPackage: "swaks", without: "mail is not sent by swaks" },
    {
      name: "Net::SSLeay",
      found: () => spawnSync("perl", ["-MNet::SSLeay", "-e1"]).status === 0,
      debianPackage: "libnet-ssleay-perl",
      without: "swaks speaks no TLS",
    },
    {
      name: "Postfix",
      program: "smtp-source",
      debianPackage: "postfix",
      without: "smtp-source, smtp-sink and posttls-finger do not talk to the mail server",
    },
    {
      name: "dkimpy",
      program: "dkimverify",
      debianPackage: "python3-dkim",
      without: "signatures and seals are not checked by another implementation",
    },
    {
      name: "OpenDKIM",
      program: "opendkim",
      debianPackage: "opendkim",
      without: "signatures are not checked by OpenDKIM",
    },
    {
      name: "Pebble",
      program: "pebble",
      debianPackage: "pebble",
      without: "certificates are not asked for at a real ACME server",
    },
    { name: "kdig", program: "kdig", debianPackage: "knot-dnsutils", without: "the DNS server is not asked by kdig" },
    {
      name: "strace",
      program: "strace",
      debianPackage: "strace",
      without: "power-cut durability and the order of writes, syncs and renames are not checked",
    },
    {
      name: "systemd-analyze",
      program: "systemd-analyze",
      debianPackage: "systemd",
      without: "the confinement of the service unit is not rated",
    },
    {
      name: "bubblewrap",
      program: "bwrap",
      debianPackage: "bubblewrap",
      without: "video programs are confined by limits only",
      for: ["start", "test"] as Purpose[],
    },
    {
      name: "ffmpeg",
      program: "ffmpeg",
      debianPackage: "ffmpeg",
      without: "videos cannot be processed",
      for: ["start", "test"] as Purpose[],
    },
    {
      name: "Chromium's headless shell",
      program: "chromium-headless-shell",
      debianPackage: "chromium-headless-shell",
      optional: true,
      without: "the browser tests use all of Chromium, which takes three times the processor time",
    },
    {
      name: "Chromium",
      found: () => isProgram("chromium-headless-shell") || isProgram("chromium"),
      debianPackage: "chromium",
      without: "videos are not played in a browser",
    },
  ].map(
    ({
      program = "",
      ...need
    }: Omit<Need, "for" | "found" | "install"> & Partial<Need> & { program?: string }): Need => ({
      for: ["test"],
      found: () => isProgram(program),
      ...need,
      install: (apt) => withoutServices(() => void apt("install", ...need.debianPackage.split(" "))),
    }),
  ),
];

export const isProgram = (name: string): boolean =>
  [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin", "/usr/local/sbin"].some((folder) =>
    existsSync(join(folder, name)),
  );

/** Returns true if a program is in PATH and can be executed. */
export const isWorkingProgram = (name: string): boolean =>
  spawnSync(name, ["-version"], { stdio: "ignore", timeout: 10_000 }).status === 0;

const SERVICE_POLICY = "/usr/sbin/policy-rc.d";

/**
 * Debian starts a server after installing it, here on port 53. invoke-rc.d calls this script first; 101 means "not
 * allowed" (policy-rc.d(8)).
 */
function withoutServices(install: () => void) {
  const ours = !existsSync(SERVICE_POLICY);
  if (ours) writeFileSync(SERVICE_POLICY, "#!/bin/sh\nexit 101\n", { mode: 0o755 });
  try {
    install();
  } finally {
    if (ours) rmSync(SERVICE_POLICY);
  }
}

/**
 * Checks the requirements of `purpose`, installs those it can, and reports on stderr. Returns the names of the missing
 * ones.
 */
export function ensureSystem(
  purpose: Purpose,
  say: (line: string) => void = (line) => process.stderr.write(`${line}\n`),
): string[] {
  const missing = needs.filter((need) => need.for.includes(purpose) && !need.found());
  if (missing.length === 0) return [];
  const packages = missing.map(({ debianPackage }) => debianPackage).join(" ");
  const required = (those: Need[]) => those.filter(({ optional }) => optional !== true).map(({ name }) => name);
  if (process.getuid?.() !== 0 || !isDebian()) {
    for (const { name, without } of missing) say(`${name} is not installed: ${without}.`);
    say(
      isDebian()
        ? `To install: sudo apt-get install -y ${packages}`
        : `To install, use your system's package manager; Debian calls it: ${packages}`,
    );
    return required(missing);
  }
  say(`installing ${packages} with apt-get ...`);
  const apt = createApt(say);
  // A package that was just installed may already meet a later need.
  if (apt("update")) for (const need of missing) if (!need.found()) need.install(apt);
  const still = missing.filter((need) => !need.found());
  for (const { name, without } of still) say(`${name} could not be installed: ${without}.`);
  return required(still);
}

/** Returns the folder with initdb and postgres: Debian's newest version, or the first one on the PATH. */
export function findPostgres(): string | undefined {
  const debian = "/usr/lib/postgresql";
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = [
    ...versions.map((version) => join(debian, version, "bin")),
    ...(process.env["PATH"] ?? "").split(delimiter),
  ];
  return folders.find((folder) => existsSync(join(folder, "initdb")) && existsSync(join(folder, "postgres")));
}

/** True if Ceph's S3 server and the daemons that store its data are installed. */
export const hasCeph = (): boolean => ["radosgw", "radosgw-admin", "ceph-mon", "ceph-osd", "ceph"].every(isProgram);

const CLUSTER_SETTINGS = "/etc/postgresql-common/createcluster.conf";

/**
 * Only the programs are needed. Debian's package would also create and start a server on port 5432; this prevents that
 * for this installation.
 */
function installPostgres(apt: Apt) {
  if (!apt("install", "postgresql-common")) return;
  const before = existsSync(CLUSTER_SETTINGS) ? readFileSync(CLUSTER_SETTINGS) : undefined;
  if (before) writeFileSync(CLUSTER_SETTINGS, `${before}\ncreate_main_cluster = false\n`);
  try {
    apt("install", "postgresql");
  } finally {
    if (before) writeFileSync(CLUSTER_SETTINGS, before);
  }
}

type Apt = (command: "update" | "install", ...packages: string[]) => boolean;

function createApt(say: (line: string) => void): Apt {
  return (command, ...packages) => {
    const options = [
      "-q",
      "-o",
      "DPkg::Lock::Timeout=120",
      ...(command === "install" ? ["-y", "--no-install-recommends"] : []),
    ];
    const result = spawnSync("apt-get", [...options, command, ...packages], {
      encoding: "utf8",
      env: { ...process.env, DEBIAN_FRONTEND: "noninteractive", LC_ALL: "C.UTF-8" },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: 600_000,
    });
    if (result.status !== 0) say(`apt-get ${[command, ...packages].join(" ")} failed: ${complaintOf(result)}`);
    return result.status === 0;
  };
}

/** Returns apt's error lines without the URLs of package servers: logs are public, but mirrors might not be. */
function complaintOf({ error, signal, stderr }: SpawnSyncReturns<string>): string {
  if (error || signal) return error?.message ?? `ended by ${signal}`;
  const lines = stderr
    .split("\n")
    .filter((line) => /^(E|dpkg):/.test(line))
    .slice(0, 5);
  return (
    lines
      .join(" ")
      .replace(/\b\w+:\/\/\S+/g, "<address>")
      .replace(/\b(?:[\w-]+\.)+[a-z]{2,}\b|\b\d+(?:\.\d+){3}\b/gi, "<host>") || "it gave no reason"
  );
}

function isDebian(): boolean {
  const release = existsSync("/etc/os-release") ? readFileSync("/etc/os-release", "utf8") : "";
  return /^ID(_LIKE)?=.*\b(debian|ubuntu)\b/m.test(release) && existsSync("/usr/bin/apt-get");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const purpose = process.argv[2];
  if (purpose !== "start" && purpose !== "test") {
    process.stderr.write("usage: node scripts/system.ts start|test\n");
    process.exit(2);
  }
  const missing = ensureSystem(purpose);
  if (missing.length === 0) process.stderr.write(`everything that ${purpose} needs from the system is here\n`);
  process.exit(missing.length === 0 ? 0 : 1);
}
