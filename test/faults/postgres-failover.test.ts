import assert from "node:assert/strict";
import { createConnection } from "node:net";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { isPostgresAvailable } from "../support/postgres.ts";
import { startPostgresPair } from "../support/postgres-pair.ts";
import { spawnServe } from "../support/serve.ts";

const skip = isPostgresAvailable() ? false : "PostgreSQL is not installed";

/** Resolves with the replies to these lines, which one SMTP session sends in turn. */
async function smtp(port: number, lines: readonly string[]): Promise<string[]> {
  const socket = createConnection({ port, host: "127.0.0.1" });
  const replies: string[] = [];
  const pending = [...lines, "QUIT"];
  for await (const line of createInterface({ input: socket })) {
    if (/^\d{3}-/.test(line)) continue;
    replies.push(line);
    const next = pending.shift();
    if (next !== undefined) socket.write(`${next}\r\n`);
  }
  return replies;
}

test(
  "while no primary exists, the API returns 503 and SMTP returns 451; both work after the failover",
  { skip },
  async (t) => {
    const { primary, standby, urlOf } = await startPostgresPair(t);
    const server = await spawnServe(t, {
      env: { REELPOST_DATABASE_URL: urlOf(), REELPOST_DATABASE_TIMEOUT_SECONDS: "3" },
    });
    const { api, account, token, smtp: mail } = server.ready;
    const call = async (method: string, path: string, body?: unknown) => {
      const response = await fetch(`${api}${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      return { status: response.status, text: await response.text() };
    };
    const createNamespace = (title: string) =>
      call("POST", `/accounts/${account!.id}/storage/kv/namespaces`, { title });
    const zone = await call("POST", "/zones", { name: "example.com", account: { id: account!.id } });
    const { id } = (JSON.parse(zone.text) as { result: { id: string } }).result;
    await call("POST", `/zones/${id}/email/routing/enable`, {});
    await call("PUT", `/zones/${id}/email/routing/rules/catch_all`, {
      enabled: true,
      matchers: [{ type: "all" }],
      actions: [{ type: "drop" }],
    });
    assert.equal((await createNamespace("before")).status, 200);

    await primary.kill();
    const refused = await createNamespace("meanwhile");
    assert.equal(refused.status, 503, refused.text);
    const session = ["EHLO sender.example", "MAIL FROM:<a@sender.example>", "RCPT TO:<info@example.com>"];
    const [, , , rcpt = ""] = await smtp(mail!.port, session);
    assert.match(rcpt, /^451 4\.3\.0 /);
    assert.equal((await fetch(`${server.ready.url}/readyz`)).status, 503);

    await standby.promote();
    // A retry after a commit whose confirmation was lost is rejected because the namespace exists.
    while ((await createNamespace("after")).status === 503) await sleep(50);
    const [, , , accepted = ""] = await smtp(mail!.port, session);
    assert.match(accepted, /^250 /);
    const listed = await call("GET", `/accounts/${account!.id}/storage/kv/namespaces`);
    const titles = (JSON.parse(listed.text) as { result: { title: string }[] }).result.map(({ title }) => title);
    assert.deepEqual(titles.toSorted(), ["after", "before"]);
  },
);
