/**
 * Main module of a process that creates one backup: hashing and encryption would slow down the server. Reads the
 * options from standard input and writes the outcome to standard output, both as JSON.
 */
import { text } from "node:stream/consumers";
import { messageOf, systemClock, UserError } from "../kernel/index.ts";
import type { Settings } from "../kernel/settings.ts";
import { backUpServer } from "./backup.ts";

const { settings, version } = JSON.parse(await text(process.stdin)) as { settings: Settings; version: string };
try {
  const { manifest, removed } = await backUpServer(settings, { version, clock: systemClock });
  const { id, files, bytes, added_bytes: addedBytes, warnings } = manifest;
  process.stdout.write(JSON.stringify({ id, files, bytes, addedBytes, warnings, removed: removed.length }));
} catch (err) {
  const fix = err instanceof UserError ? err.fix : undefined;
  process.stdout.write(JSON.stringify({ error: messageOf(err), ...(fix !== undefined && { fix }) }));
  process.exitCode = 1;
}
