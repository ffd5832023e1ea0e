import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { accountsMigrations, createAccounts } from "../accounts/index.ts";
import { randomIds, silentLog, systemClock } from "../kernel/index.ts";
import { createLocalEvents, migrate, openSqlite } from "../store/index.ts";
import { createSignInLink } from "./sign-in-link.ts";

test("a link is created next to the running server, and opens one session without a code", async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), "sign-in-link-"));
  t.after(() => rmSync(dataDir, { recursive: true, force: true }));
  const linkFor = (email?: string, env: Record<string, string> = {}) =>
    createSignInLink({
      cwd: dataDir,
      env,
      overrides: { data_dir: dataDir },
      clock: systemClock,
      ...(email !== undefined && { email }),
    });
  await assert.rejects(linkFor(), { kind: "noUser" });
  assert.ok(!existsSync(join(dataDir, "reelpost.sqlite")), "no database is created");

  const db = openSqlite({ path: join(dataDir, "reelpost.sqlite") });
  t.after(() => db.close());
  await migrate(db, accountsMigrations);
  const accounts = createAccounts({
    db,
    clock: systemClock,
    ids: randomIds,
    events: createLocalEvents({ log: silentLog }),
    log: silentLog,
  });
  t.after(() => accounts.close());
  await accounts.bootstrap({ email: "ann@example.com" });

  const { url, email, expiresAt } = await linkFor();
  const [, link] = /^http:\/\/localhost:8790\/sign-in#link=([\w-]{40})$/.exec(url)!;
  assert.equal(email, "ann@example.com");
  assert.ok(expiresAt > Date.now() + 29 * 60_000);
  const opened = await accounts.signIn.withLink(link!, {});
  assert.ok("secret" in opened && (await accounts.authenticate({ secret: opened.secret })));
  await assert.rejects(linkFor("bob@example.com"), { kind: "noUserOf" });

  for (const [env, start] of [
    [{ REELPOST_DASHBOARD_PORT: "9000" }, "http://localhost:9000/"],
    [{ REELPOST_DASHBOARD_HOSTS: "dash.example.com" }, "http://dash.example.com:8787/"],
    [
      { REELPOST_DASHBOARD_HOSTS: "dash.example.com", REELPOST_HTTP_PUBLIC_URL: "https://api.example.com" },
      "https://dash.example.com/",
    ],
  ] as const)
    assert.ok((await linkFor("ANN@example.com", env)).url.startsWith(start), start);
});
