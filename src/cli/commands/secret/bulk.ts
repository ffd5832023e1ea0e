import { defineCommand } from "../../command.ts";
import { commandErrors } from "../../errors.ts";
import { readJson } from "../../input.ts";
import { plural, printResult } from "../../print.ts";
import { workerOptions } from "../../shared-options.ts";
import { connectWorker } from "../../worker-of.ts";

const MAX_FILE = 16 * 1024 * 1024;

export const secretBulk = defineCommand({
  name: "secret bulk",
  summary: "set several secrets",
  description:
    "The file contains a JSON object of names and values; null deletes a secret. All changes create one new version.",
  arguments: [{ name: "file", summary: 'JSON file, or "-" for standard input', required: true, complete: "file" }],
  options: workerOptions,
  examples: [
    ["reelpost secret bulk secrets.json", '{ "API_KEY": "…", "OLD": null }'],
    ["reelpost secret bulk - < secrets.json", "from standard input"],
  ],
  async run(values, [file], surroundings) {
    const changes = secretsIn(await readJson(file!, surroundings, MAX_FILE), file!);
    const { api, script, name } = await connectWorker(values, surroundings);
    const secrets = Object.fromEntries(
      changes.map(([secret, text]) => [secret, text === null ? null : { name: secret, text, type: "secret_text" }]),
    );
    await api.result("PATCH", `${script}/secrets-bulk`, { json: { secrets } });
    const [put, deleted] = [
      changes.filter(([, text]) => text !== null),
      changes.filter(([, text]) => text === null),
    ].map((part) => part.map(([secret]) => secret)) as [string[], string[]];
    printResult(surroundings, { worker: name, put, deleted }, () => [
      `${name}: ${plural(put.length, "secret")} set${deleted.length === 0 ? "" : `, ${deleted.length} taken away`}`,
    ]);
    return 0;
  },
});

function secretsIn(value: unknown, file: string): [name: string, text: string | null][] {
  const fail = (reason: string) =>
    commandErrors.badContent({ what: file, reason, fix: 'For example { "API_KEY": "…" }' });
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw fail("it is no JSON object of names and texts");
  const entries = Object.entries(value);
  if (entries.length === 0) throw fail("there is no secret in it");
  return entries.map(([name, text]: [string, unknown]) => {
    if (typeof text !== "string" && text !== null) throw fail(`the value of ${name} is not a string`);
    return [name, text];
  });
}
