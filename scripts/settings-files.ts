/**
 * Generates files from the settings schema; a test checks that they are current:
 *
 *     node scripts/settings-files.ts
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { settingsExample, settingsPage } from "../src/kernel/settings-docs.ts";

export const settingsFiles: Record<string, string> = {
  "docs/settings.md": settingsPage(),
  "deploy/settings.jsonc": settingsExample(),
};

if (import.meta.main) {
  for (const [file, text] of Object.entries(settingsFiles)) writeFileSync(join(import.meta.dirname, "..", file), text);
}
