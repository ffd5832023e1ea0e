// The result of worker.email() of reelpost/test, compared with that of createTestHarness() of wrangler.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import { createScope, makeProject } from "../e2e/dev-bench.ts";
import { WRANGLER_NODE_OPTIONS } from "../support/wrangler.ts";
import { createServer } from "../../src/test-helper/client.ts";

const root = join(import.meta.dirname, "..", "..");
const wrangler = pathToFileURL(
  join(root, "test", "clients", "node_modules", "wrangler", "wrangler-dist", "cli.js"),
).href;
const TIMEOUT_MS = 90_000;

const WORKER = `
import { EmailMessage } from "cloudflare:email";
export default {
  async email(message) {
    const subject = message.headers.get("subject");
    if (subject === "reject") return message.setReject("not today");
    if (subject === "throw") throw new Error("on purpose");
    await message.forward("archive@example.net", new Headers({ "X-Seen": "yes" }));
    const raw = "From: inbox@example.org\\r\\nTo: ada@example.com\\r\\nMessage-ID: <reply@example.org>\\r\\nIn-Reply-To: <1@example.com>\\r\\nSubject: Re\\r\\n\\r\\nthanks\\r\\n";
    await message.reply(new EmailMessage("inbox@example.org", "ada@example.com", raw));
  },
};
`;
const rawOf = (subject: string) =>
  `From: ada@example.com\r\nTo: inbox@example.org\r\nMessage-ID: <1@example.com>\r\nSubject: ${subject}\r\n\r\nHello\r\n`;
const SUBJECTS = ["forward", "reject", "throw"];

const scope = createScope();
after(() => scope.close());

test("worker.email() returns the same fields as in the test harness of wrangler, with the same actions", async () => {
  const folder = await makeProject(scope, { "src/index.ts": WORKER });
  const messages = SUBJECTS.map((subject) => ({
    from: "ada@example.com",
    to: "inbox@example.org",
    raw: rawOf(subject),
  }));
  const script = `
    import wrangler from ${JSON.stringify(wrangler)};
    const server = wrangler.createTestHarness({ workers: [{ configPath: "./wrangler.jsonc" }] });
    await server.listen();
    const results = [];
    for (const message of ${JSON.stringify(messages)}) results.push(await server.getWorker().email(message));
    await server.close();
    console.log("RESULTS" + JSON.stringify(results));
    process.exit(0);`;
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [...WRANGLER_NODE_OPTIONS, "--input-type=module", "-e", script],
    {
      cwd: folder,
      encoding: "utf8",
      timeout: TIMEOUT_MS,
      env: { ...process.env, HOME: folder, WRANGLER_SEND_METRICS: "false", NO_COLOR: "1" },
    },
  );
  const [, json] = /RESULTS(.*)/.exec(stdout) ?? [];
  assert.ok(json, `${stdout}\n${stderr}`);
  const theirs = JSON.parse(json) as Record<string, unknown>[];

  const server = await createServer({ dir: folder, startTimeout: 100_000 });
  try {
    for (const [i, message] of messages.entries()) {
      const ours = (await server.worker().email(message)) as unknown as Record<string, unknown>;
      const shared = Object.fromEntries(Object.keys(theirs[i]!).map((name) => [name, ours[name]]));
      assert.deepEqual(comparable(shared), comparable(theirs[i]!), SUBJECTS[i]!);
    }
  } finally {
    await server.close();
  }
});

/** Without times, ids and the header fields that a server adds to a reply. */
const comparable = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value ?? null, (name, part: unknown) => {
      if (name === "timestamp") return "time";
      if (name === "messageId") return "id";
      return name === "raw" ? String(part).split("\r\n\r\n")[1] : part;
    }),
  );
