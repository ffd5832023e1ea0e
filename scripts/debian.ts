/**
 * Builds a Debian package with the systemd units: reelpost_<version>_<architecture>.deb.
 *
 *     node scripts/debian.ts [--out FOLDER] [--tarball FILE]
 *
 * It contains what `npm pack` packs, the locked dependencies and the Node.js that the program needs, so it
 * is for the architecture of this machine. `--tarball`: a result of `npm pack`, instead of a new one.
 */
import { spawnSync } from "node:child_process";
import { chmod, cp, lstat, mkdir, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";

const root = join(import.meta.dirname, "..");
const deploy = join(root, "deploy");
const UNITS = [
  "reelpost.service",
  "reelpost.socket",
  "reelpost-smtp.socket",
  "reelpost-submission.socket",
  "reelpost-https.socket",
];
const ARCHITECTURES: Partial<Record<NodeJS.Architecture, string>> = { x64: "amd64", arm64: "arm64" };

const { values } = parseArgs({ options: { out: { type: "string" }, tarball: { type: "string" } } });
const architecture = ARCHITECTURES[process.arch];
if (process.platform !== "linux" || architecture === undefined)
  throw new Error(`no Debian package can be built on ${process.platform} ${process.arch}`);

const work = await mkdtemp(join(tmpdir(), "reelpost-debian-"));
try {
  process.stdout.write(`${await buildPackage(work, resolve(values.out ?? root), values.tarball)}\n`);
} finally {
  await rm(work, { recursive: true, force: true });
}

/** Resolves with the path of the package. */
async function buildPackage(folder: string, out: string, tarball: string | undefined): Promise<string> {
  const stage = join(folder, "stage");
  const library = join(stage, "usr/lib/reelpost");
  const documents = join(stage, "usr/share/doc/reelpost");
  for (const path of [library, documents, join(stage, "usr/bin"), join(stage, "etc/reelpost"), join(stage, "DEBIAN")])
    await mkdir(path, { recursive: true });

  run(library, "tar", "-xzf", tarball === undefined ? pack(folder) : resolve(tarball), "--strip-components=1");
  for (const file of ["package-lock.json", ".npmrc"]) await cp(join(root, file), join(library, file));
  run(library, "npm", "ci", "--omit=dev", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error");
  for (const file of ["package-lock.json", ".npmrc", "node_modules/.package-lock.json"])
    await rm(join(library, file), { force: true });

  const { version, license } = JSON.parse(await readFile(join(library, "package.json"), "utf8")) as {
    version: string;
    license: string;
  };
  await cp(join(deploy, "debian/reelpost"), join(stage, "usr/bin/reelpost"));
  await cp(join(deploy, "debian/settings.jsonc"), join(stage, "etc/reelpost/settings.jsonc"));
  await installUnits(join(stage, "usr/lib/systemd/system"));
  for (const file of ["settings.jsonc", "reelpost-account-users.conf"])
    await cp(join(deploy, file), join(documents, file));
  await writeFile(join(documents, "copyright"), copyright(license, await readFile(join(root, "NOTICE"), "utf8")));
  await writeFile(join(documents, "changelog.gz"), gzipSync(await readFile(join(root, "CHANGELOG.md")), { level: 9 }));

  for (const script of ["postinst", "prerm", "postrm"])
    await cp(join(deploy, "debian", script), join(stage, "DEBIAN", script));
  await writeFile(join(stage, "DEBIAN/conffiles"), "/etc/reelpost/settings.jsonc\n");
  await writeFile(
    join(stage, "DEBIAN/control"),
    control({ version, architecture: architecture!, kilobytes: Math.ceil((await sizeOf(stage)) / 1024) }),
  );
  await setModes(stage);
  const file = join(out, `reelpost_${version}_${architecture}.deb`);
  await mkdir(out, { recursive: true });
  run(folder, "dpkg-deb", "--root-owner-group", "-Zzstd", "-z6", "--build", stage, file);
  return file;
}

/** The units run /usr/bin/reelpost, and refer to no file in the repository. */
async function installUnits(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const unit of UNITS) {
    const text = await readFile(join(deploy, unit), "utf8");
    const installed = text
      .replace(/^# \/etc\/systemd\/system\/.*\n/, "")
      .replace(/^# useradd .*\n/m, "")
      .replace("ExecStart=/usr/local/bin/reelpost", "ExecStart=/usr/bin/reelpost");
    await writeFile(join(folder, unit), installed);
  }
}

function control(fields: { version: string; architecture: string; kilobytes: number }): string {
  return `Package: reelpost
Version: ${fields.version}
Architecture: ${fields.architecture}
Maintainer: The Reelpost authors <noreply@reelpost.internal>
Installed-Size: ${fields.kilobytes}
Depends: libc6 (>= 2.35), passwd
Recommends: ffmpeg, bubblewrap
Section: mail
Priority: optional
Description: self-hosted programmable email and streaming video
 Email Workers, Email Routing and Stream in one program: a mail server whose
 rules are JavaScript, and a video service with uploads, live broadcasts and
 adaptive playback. The package contains the Node.js that it needs.
`;
}

function copyright(license: string, notice: string): string {
  return `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/

Files: *
Copyright: the Reelpost authors
License: ${license}
 On Debian systems, /usr/share/common-licenses/Apache-2.0 contains the text.
 The licences of bundled packages are in /usr/lib/reelpost/dist/licenses.txt,
 those of the other packages in their folders in /usr/lib/reelpost/node_modules.

${notice
  .trimEnd()
  .split("\n")
  .map((line) => (line === "" ? "#" : `# ${line}`))
  .join("\n")}
`;
}

/** Returns the result of `npm pack`, which builds the program. */
function pack(folder: string): string {
  const output = run(root, "npm", "pack", "--json", "--loglevel=error", "--pack-destination", folder);
  // `prepack` may print before the result.
  const [result] = JSON.parse(output.slice(output.indexOf("[\n"))) as [{ filename: string }];
  return join(folder, result.filename);
}

/** Debian policy 10.9: files are readable by everyone and writable by root. */
async function setModes(path: string): Promise<void> {
  const stats = await lstat(path);
  if (stats.isSymbolicLink()) return;
  await chmod(path, stats.isDirectory() || (stats.mode & 0o100) !== 0 ? 0o755 : 0o644);
  if (stats.isDirectory()) for (const name of await readdir(path)) await setModes(join(path, name));
}

async function sizeOf(path: string): Promise<number> {
  const stats = await lstat(path);
  if (!stats.isDirectory()) return stats.size;
  const sizes = await Promise.all((await readdir(path)).map((name) => sizeOf(join(path, name))));
  return sizes.reduce((sum, size) => sum + size, 4096);
}

function run(cwd: string, command: string, ...args: string[]): string {
  const { status, stdout, error } = spawnSync(command, args, {
    cwd,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    timeout: 10 * 60_000,
  });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} exited with code ${status}`);
  return stdout;
}
