import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { hostileMessages } from "../support/hostile-messages.ts";
import { startNextHop, type NextHop } from "../support/next-hop.ts";
import { plainMessage, sendRaw, startMailFixture, until, type MailFixture } from "../support/mail-world.ts";
import { createScope } from "./dev-bench.ts";

/** Maximum time per message on a busy machine; patterns with catastrophic backtracking would take minutes. */
const PATIENCE_MS = 30_000;

const READER = `
  export default {
    async email(message) {
      let names = 0;
      for (const [name, value] of message.headers) names += name.length + value.length;
      const raw = await new Response(message.raw).arrayBuffer();
      if (raw.byteLength !== message.rawSize) throw new Error("a part of it is missing: " + raw.byteLength + " of " + message.rawSize);
    },
  };`;

describe("hostile messages", () => {
  const scope = createScope();
  let world: MailFixture;
  let hop: NextHop;
  const messages = hostileMessages();

  before(async () => {
    hop = await startNextHop(scope);
    world = await startMailFixture(scope, { nextPort: hop.port });
    await world.destination("bob@there.example");
    await world.rule("box", "forward", "bob@there.example");
    await world.api.deploy("reader", READER);
    await world.rule("reader", "worker", "reader");
    await until(() => hop.taken.length > 0 || undefined, "the verification email");
    hop.taken.length = 0;
  });
  after(() => scope.close());

  async function answersOf(to: string): Promise<{ name: string; answer: string; ms: number }[]> {
    const answers = [];
    for (const [i, { name, raw }] of messages.entries()) {
      const begun = performance.now();
      // The sender address identifies the message.
      const answer = await sendRaw(world.server.smtp!.port, { from: `m${i}@sender.example`, to, raw });
      answers.push({ name, answer, ms: performance.now() - begun });
    }
    return answers;
  }

  const wrong = (answers: { name: string; answer: string; ms: number }[]) =>
    answers.filter(({ answer, ms }, i) => {
      const { answer: wanted } = messages[i]!;
      const taken = answer.startsWith("250 ");
      const refused = /^5\d\d 5\.\d+\.\d+ \S/.test(answer);
      return ms > PATIENCE_MS || !(wanted === "refused" ? refused : wanted === "either" ? taken || refused : taken);
    });

  test("each gets a prompt response, and accepted messages are passed on byte for byte", async (t) => {
    const answers = await answersOf("box@routed.example");
    t.diagnostic(
      `${answers.length} messages, the slowest took ${Math.max(...answers.map(({ ms }) => ms)).toFixed(0)} ms`,
    );
    assert.deepEqual(wrong(answers), []);
    const taken = answers.flatMap(({ answer }, i) => (answer.startsWith("250 ") ? [i] : []));
    await until(() => hop.taken.length >= taken.length || undefined, "all accepted messages");
    const arrived = new Map(hop.taken.map(({ from, raw }) => [/=m(\d+)@/.exec(from)?.[1] ?? from, raw]));
    const different = taken.filter((i) => {
      const { raw, changed } = messages[i]!;
      const whole = raw.endsWith("\r\n") || raw === "" ? raw : `${raw}\r\n`;
      return changed
        ? !arrived.get(String(i))?.endsWith(whole.slice(whole.indexOf("\r\n\r\n")))
        : !arrived.get(String(i))?.endsWith(whole);
    });
    assert.deepEqual(
      different.map((i) => messages[i]!.name),
      [],
    );
    assert.equal(hop.taken.length, taken.length);
  });

  test("a worker can read each accepted message", async () => {
    assert.deepEqual(wrong(await answersOf("reader@routed.example")), []);
  });

  test("leave the server working as before, and the log lists every message", async () => {
    assert.match(
      await sendRaw(world.server.smtp!.port, { to: "box@routed.example", raw: plainMessage("after the storm") }),
      /^250 /,
    );
    await world.entry("after the storm", ({ status }) => status === "delivered");
    const seen = new Set<string>();
    for (let cursor: string | undefined = ""; cursor !== undefined;) {
      const { body } = await world.api.call(
        "get",
        `email/activity?kind=routing&per_page=50&cursor=${encodeURIComponent(cursor)}`,
      );
      for (const { from, to } of body.result as { from: string; to: string }[]) seen.add(`${from} ${to}`);
      cursor = (body.result_info as { cursor?: string }).cursor;
    }
    const missing = messages.flatMap(({ name }, i) =>
      ["box", "reader"].every((local) => seen.has(`m${i}@sender.example ${local}@routed.example`)) ? [] : [name],
    );
    assert.deepEqual(missing, []);
  });
});
