import { at } from "../api/paths.ts";
import { askHidden, canAsk } from "../ask.ts";
import { type Command, defineCommand } from "../command.ts";
import { commandErrors } from "../errors.ts";
import { readStdin, readJsonFile } from "../input.ts";
import { printResult, plural } from "../print.ts";
import { workerOptions } from "../shared-options.ts";
import { connectWorker } from "../worker-of.ts";

/** Larger than any server accepts. */
const MAX_SECRET_BYTES = 1024 * 1024;

const secretPut = defineCommand({
  name: "secret put",
  summary: "set a secret",
  description: `Prompts for the value without showing it, or reads it from standard input without the trailing line break. The change takes effect
immediately: the server creates a new version.`,
  arguments: [{ name: "name", summary: "name of the secret in env", required: true }],
  options: workerOptions,
  examples: [
    ["reelpost secret put API_KEY", "prompts for the value"],
    ["reelpost secret put API_KEY < key.txt", "reads it from a file"],
  ],
  async run(values, [secret], context) {
    const { api, script, name } = await connectWorker(values, context);
    const text = canAsk(context)
      ? await askHidden(`Value of ${secret}: `, context)
      : (await readStdin(context, MAX_SECRET_BYTES)).toString().replace(/\r?\n$/, "");
    const result = await api.result<{ name: string; type: string }>("PUT", `${script}/secrets`, {
      json: { name: secret, text, type: "secret_text" },
    });
    printResult(context, { worker: name, ...result }, () => [`Set the secret ${secret} of ${name}`]);
    return 0;
  },
});

const secretList = defineCommand({
  name: "secret list",
  summary: "list the names of a worker's secrets",
  options: workerOptions,
  examples: [["reelpost secret list", "the worker in this folder"]],
  async run(values, _, context) {
    const { api, script, name } = await connectWorker(values, context);
    const secrets = await api.result<{ name: string; type: string }[]>("GET", `${script}/secrets`);
    printResult(context, secrets, () =>
      secrets.length === 0 ? [`${name} has no secrets`] : secrets.map((secret) => secret.name),
    );
    return 0;
  },
});

const secretDelete = defineCommand({
  name: "secret delete",
  summary: "delete a secret",
  arguments: [{ name: "name", summary: "name of the secret", required: true }],
  options: workerOptions,
  examples: [["reelpost secret delete API_KEY", "the worker in this folder"]],
  async run(values, [secret], context) {
    const { api, script, name } = await connectWorker(values, context);
    await api.result("DELETE", `${script}/secrets${at`/${secret!}`}`, { query: { url_encoded: true } });
    printResult(context, { worker: name, name: secret }, () => [`Deleted the secret ${secret} of ${name}`]);
    return 0;
  },
});

const MAX_FILE_BYTES = 16 * 1024 * 1024;

const secretBulk = defineCommand({
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
  async run(values, [file], context) {
    const changes = secretsIn(await readJsonFile(file!, context, MAX_FILE_BYTES), file!);
    const { api, script, name } = await connectWorker(values, context);
    const secrets = Object.fromEntries(
      changes.map(([secret, text]) => [secret, text === null ? null : { name: secret, text, type: "secret_text" }]),
    );
    await api.result("PATCH", `${script}/secrets-bulk`, { json: { secrets } });
    const [put, deleted] = [
      changes.filter(([, text]) => text !== null),
      changes.filter(([, text]) => text === null),
    ].map((part) => part.map(([secret]) => secret)) as [string[], string[]];
    printResult(context, { worker: name, put, deleted }, () => [
      `${name}: ${plural(put.length, "secret")} set${deleted.length === 0 ? "" : `, ${deleted.length} deleted`}`,
    ]);
    return 0;
  },
});

function secretsIn(value: unknown, file: string): [name: string, text: string | null][] {
  const fail = (reason: string) =>
    commandErrors.badContent({ what: file, reason, fix: 'For example { "API_KEY": "…" }' });
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw fail("it is not a JSON object with string values");
  const entries = Object.entries(value);
  if (entries.length === 0) throw fail("it contains no secret");
  return entries.map(([name, text]: [string, unknown]) => {
    if (typeof text !== "string" && text !== null) throw fail(`the value of ${name} is not a string`);
    return [name, text];
  });
}

export const secretCommands: readonly Command[] = [secretPut, secretList, secretDelete, secretBulk];
