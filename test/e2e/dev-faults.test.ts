import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { DevEvent } from "../../src/dev/index.ts";
import { createScope, isEmail, mailer, makeProject, message, serve, type TestServer } from "./dev-bench.ts";

const WORKER = `
export default {
  async email(message, env) {
    await message.forward(message.headers.get("subject"));
  },
  async fetch(request, env) {
    if (new URL(request.url).pathname === "/put") {
      await env.BUCKET.put("key", "value");
      return new Response("stored");
    }
    return new Response(env.GREETING);
  },
};
`;

const isNotice = ({ event }: DevEvent) => event === "notice";
const textOf = (event: DevEvent) => ("text" in event ? event.text : "");

describe("simulated failures in reelpost dev", () => {
  const scope = createScope();
  after(scope.close);
  let folder = "";
  let server: TestServer;
  const post = (to: string) => server.post(message({ Subject: to }));

  before(async () => {
    folder = await makeProject(
      scope,
      { "src/index.ts": WORKER },
      { vars: { GREETING: "hello" }, r2_buckets: [{ binding: "BUCKET" }] },
    );
    server = await serve(scope, folder, { vars: { GREETING: "good morning" } });
  });

  it("reject forwards to 550@ and 451@ with these codes, and accept other addresses", async () => {
    const permanent = await post("550@example.net");
    assert.equal(permanent.status, 500);
    assert.match(permanent.text, /permanent error \(550\): 5\.0\.0 simulated reply for 550@example\.net/);
    const temporary = await post("451+a@example.net");
    assert.match(temporary.text, /transient error \(451\): 4\.0\.0/);
    assert.equal((await post("ada@example.net")).status, 200);
    assert.equal(
      textOf(await server.event(isNotice)),
      "Simulated next hop for 550@example.net: 550 5.0.0 simulated reply for 550@example.net",
    );
  });

  it("follow fault rules until they are cleared", async () => {
    server.control.deliveries.add({ fault: { kind: "drop" }, to: "*@example.net", times: 1 });
    assert.match((await post("ada@example.net")).text, /transient error \(451\): 4\.4\.2/);
    assert.equal((await post("ada@example.net")).status, 200);
  });

  it("reject bucket writes and mail while the disk is full", async () => {
    server.control.disk.setFull(true);
    try {
      assert.equal((await fetch(`${server.url}/put`)).status, 500);
      assert.match((await post("ada@example.net")).text, /transient error \(452\): 4\.3\.1/);
      const send = mailer(scope, server).sendMail({
        from: "ada@example.com",
        to: "inbox@example.org",
        subject: "ada@example.net",
        text: "hi",
      });
      await assert.rejects(send, { responseCode: 452 });
    } finally {
      server.control.disk.setFull(false);
    }
    assert.equal(await (await fetch(`${server.url}/put`)).text(), "stored");
  });

  it("overrides variables of the configuration", async () => {
    assert.equal(await (await fetch(server.url)).text(), "good morning");
  });
});

describe("chaos in reelpost dev", () => {
  const scope = createScope();
  after(scope.close);

  it("fails deliveries in the same order for the same seed, and reports the seed", async () => {
    const folder = await makeProject(scope, { "src/index.ts": WORKER });
    const outcomes: string[][] = [];
    for (const run of [1, 2]) {
      const server = await serve(scope, folder, { chaos: { percent: 50, seed: 3 }, dataDir: `${folder}/data-${run}` });
      assert.match(textOf(server.events.find(isNotice)!), /^Chaos: .* 50% .*--chaos-seed 3$/);
      const texts: string[] = [];
      for (let i = 0; i < 8; i++) texts.push((await server.post(message({ Subject: `${i}@example.net` }))).text);
      outcomes.push(texts.map((text) => text.split("\n")[0]!));
      assert.ok(server.events.some(isEmail));
      await server.close();
    }
    assert.deepEqual(outcomes[0], outcomes[1]);
    assert.ok(outcomes[0]!.some((text) => text.includes("simulated")));
    assert.ok(outcomes[0]!.includes("Worker successfully processed email"));
  });
});
