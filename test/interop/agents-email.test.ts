import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { createScope, serve, writeProjectFile } from "../e2e/dev-bench.ts";
import { TOKEN } from "../e2e/serve-client.ts";
import { sendRaw, SENDER_DOMAIN, startMailFixture, until } from "../support/mail-world.ts";
import { startNextHop } from "../support/next-hop.ts";
import { temporaryFolder } from "../support/serve.ts";
import { createWrangler } from "../support/wrangler.ts";

/** The published `agents` package, unmodified: its email routing, signed replies, and state of an agent. */

const DOMAIN = "agents.example";
const SECRET = "a secret that signs the headers of replies";
const DAY_SECONDS = 86_400;

/** The example in the documentation of the package, with state that the tests read. */
const WORKER = `
import { Agent, getAgentByName, routeAgentEmail } from "agents";
import { createAddressBasedEmailResolver, createSecureReplyEmailResolver, isAutoReplyEmail } from "agents/email";
import PostalMime from "postal-mime";

export class EmailAgent extends Agent {
  initialState = { subjects: [], texts: [] };

  async onEmail(email) {
    const mail = await PostalMime.parse(await email.getRaw());
    if (isAutoReplyEmail(mail.headers)) return;
    this.setState({ subjects: [...this.state.subjects, mail.subject], texts: [...this.state.texts, mail.text.trim()] });
    await this.replyToEmail(email, {
      fromName: "Support",
      body: "Received message " + this.state.subjects.length + ".",
      secret: this.env.EMAIL_SECRET,
    });
  }

  async sendUpdate(to) {
    return this.sendEmail({ binding: this.env.EMAIL, to, from: "support@${DOMAIN}", subject: "Update", text: "Still open.", secret: this.env.EMAIL_SECRET });
  }
}

export default {
  async email(message, env) {
    const signedReply = createSecureReplyEmailResolver(env.EMAIL_SECRET, {
      maxAge: ${7 * DAY_SECONDS},
      onInvalidSignature: (_email, reason) => console.warn("signature: " + reason),
    });
    const address = createAddressBasedEmailResolver("EmailAgent");
    await routeAgentEmail(message, env, {
      resolver: async (email, env) => (await signedReply(email, env)) ?? (email.to === "desk@${DOMAIN}" ? null : address(email, env)),
      onNoRoute: (email) => email.setReject("No agent for this message"),
    });
  },
  async fetch(request, env) {
    const url = new URL(request.url);
    const agent = await getAgentByName(env.EmailAgent, url.searchParams.get("agent"));
    const to = url.searchParams.get("update");
    return Response.json(to === null ? await agent.state : await agent.sendUpdate(to));
  },
};
`;

const CONFIG = JSON.stringify({
  name: "support",
  main: "index.js",
  compatibility_date: "2026-10-01",
  compatibility_flags: ["nodejs_compat"],
  vars: { EMAIL_SECRET: SECRET },
  durable_objects: { bindings: [{ name: "EmailAgent", class_name: "EmailAgent" }] },
  migrations: [{ tag: "v1", new_sqlite_classes: ["EmailAgent"] }],
  send_email: [{ name: "EMAIL" }],
});

interface AgentState {
  subjects: string[];
  texts: string[];
}

/** A server that runs the worker above. */
interface Target {
  smtpPort: number;
  state(agent: string): Promise<AgentState>;
  /** Calls `sendUpdate` of the agent. */
  sendUpdate(agent: string, to: string): Promise<unknown>;
  /** Resolves with every message that the agents have sent, in order. */
  sent(count: number): Promise<string[]>;
}

let messages = 0;

function send({ smtpPort }: Target, to: string, subject: string, headers: Record<string, string> = {}) {
  const all = {
    From: `Ada <ada@${SENDER_DOMAIN}>`,
    To: to,
    Subject: subject,
    Date: new Date().toUTCString().replace("GMT", "+0000"),
    "Message-ID": `<${++messages}@${SENDER_DOMAIN}>`,
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return sendRaw(smtpPort, { to, raw: [...lines, "", `text of ${subject}`, ""].join("\r\n") });
}

/** Returns the agent headers of a message, as a client returns them in its reply. */
function agentHeaders(raw: string): Record<string, string> {
  const head = raw.split("\r\n\r\n")[0]!.replace(/\r\n[ \t]+/g, " ");
  return Object.fromEntries(
    [...head.matchAll(/^(X-Agent-[\w-]+): *(.*)$/gim)].map(([, name, value]) => [name!.toLowerCase(), value!.trim()]),
  );
}

function signature(id: string, seconds: number, secret = SECRET): Record<string, string> {
  const sig = createHmac("sha256", secret).update(`email-agent:${id}:${seconds}`).digest("base64");
  return { "x-agent-name": "email-agent", "x-agent-id": id, "x-agent-sig": sig, "x-agent-sig-ts": String(seconds) };
}
const nowSeconds = () => Math.floor(Date.now() / 1000);

/** Links the packages of the test clients into a project. */
const linkPackages = (folder: string) =>
  symlink(join(import.meta.dirname, "..", "clients", "node_modules"), join(folder, "node_modules"));

function testAgent(getTarget: () => Target) {
  let replyHeaders: Record<string, string> = {};

  it("routes a message by its address, stores state and replies with signed headers", async () => {
    const target = getTarget();
    assert.match(await send(target, `billing@${DOMAIN}`, "first"), /^250 /);
    assert.deepEqual(await target.state("billing"), { subjects: ["first"], texts: ["text of first"] });
    const [reply] = await target.sent(1);
    assert.match(reply!, /^In-Reply-To: <\d+@sender\.example>/im);
    replyHeaders = agentHeaders(reply!);
    const { "x-agent-name": name, "x-agent-id": id, "x-agent-sig-ts": timestamp } = replyHeaders;
    assert.deepEqual([name, id], ["email-agent", "billing"]);
    assert.deepEqual(replyHeaders, signature("billing", Number(timestamp)));
  });

  it("routes a sub-address to an agent of that class", async () => {
    const target = getTarget();
    assert.match(await send(target, `EmailAgent+user7@${DOMAIN}`, "sub"), /^250 /);
    assert.deepEqual((await target.state("user7")).subjects, ["sub"]);
    await target.sent(2);
  });

  it("routes a signed reply to the agent that signed it, whatever its address", async () => {
    const target = getTarget();
    assert.match(await send(target, `desk@${DOMAIN}`, "Re: first", replyHeaders), /^250 /);
    assert.deepEqual((await target.state("billing")).subjects, ["first", "Re: first"]);
    assert.match((await target.sent(3)).at(-1)!, /Received message 2\./);
  });

  it("does not route a reply whose signature is forged or expired", async () => {
    const target = getTarget();
    const old = nowSeconds() - 8 * DAY_SECONDS;
    for (const headers of [
      {},
      { ...replyHeaders, "x-agent-id": "user7" },
      signature("billing", nowSeconds(), "another secret"),
      signature("billing", nowSeconds() + DAY_SECONDS),
      signature("billing", old),
    ])
      assert.match(await send(target, `desk@${DOMAIN}`, "forged", headers), /^5\d\d .*No agent for this message/);
    assert.deepEqual((await target.state("billing")).subjects, ["first", "Re: first"]);
    assert.deepEqual((await target.state("user7")).subjects, ["sub"]);
    assert.equal((await target.sent(3)).length, 3);
  });

  it("sends signed messages, and replies return to the agent", async () => {
    const target = getTarget();
    await target.sendUpdate("billing", `ada@${SENDER_DOMAIN}`);
    const headers = agentHeaders((await target.sent(4))[3]!);
    assert.deepEqual(headers, signature("billing", Number(headers["x-agent-sig-ts"])));
    assert.match(await send(target, `desk@${DOMAIN}`, "Re: Update", headers), /^250 /);
    assert.equal((await target.state("billing")).subjects.at(-1), "Re: Update");
  });
}

describe("agents: email on a worker that wrangler deployed", () => {
  const scope = createScope();
  let target: Target;
  before(async () => {
    const nextHop = await startNextHop(scope);
    const world = await startMailFixture(scope, { nextPort: nextHop.port, domain: DOMAIN });
    const { url, smtp } = world.server;
    const credentials = { api: world.server.api!, token: TOKEN, account: world.api.account };
    const wrangler = await createWrangler(scope, credentials, { "wrangler.jsonc": CONFIG, "index.js": WORKER });
    await linkPackages(wrangler.folder);
    await wrangler.run(["deploy"]);
    await world.rule("*", "worker", "support");
    // Only messages that pass DMARC get replies, and only domains with Email Sending send.
    const [{ id: senders }] = await world.api.ok("get", `/zones?name=${SENDER_DOMAIN}`);
    await world.api.ok("post", `/zones/${senders}/dns_records`, {
      body: { type: "TXT", name: `_dmarc.${SENDER_DOMAIN}`, content: '"v=DMARC1; p=reject"', ttl: 300 },
    });
    await world.api.ok("post", `/zones/${world.zone}/email/sending/subdomains`, { body: { name: DOMAIN } });
    const visit = async (query: string) => (await fetch(`${url}/workers/support/?${query}`)).json();
    target = {
      smtpPort: smtp!.port,
      state: async (agent) => (await visit(`agent=${agent}`)) as AgentState,
      sendUpdate: (agent, to) => visit(`agent=${agent}&update=${to}`),
      sent: (count) =>
        until(
          () => (nextHop.taken.length >= count ? nextHop.taken.map(({ raw }) => raw) : undefined),
          `${count} messages of agents`,
        ),
    };
  });
  after(scope.close);
  testAgent(() => target);
});

describe("agents: email in development", () => {
  const scope = createScope();
  let target: Target;
  before(async () => {
    const folder = await temporaryFolder(scope, "agents");
    await Promise.all([
      writeProjectFile(folder, "wrangler.jsonc", CONFIG),
      writeProjectFile(folder, "index.js", WORKER),
    ]);
    await linkPackages(folder);
    const server = await serve(scope, folder);
    const visit = async (query: string) => (await fetch(`${server.url}/?${query}`)).json();
    const actions = () =>
      server.events.flatMap((event) => (event.event === "sent" ? [event] : "actions" in event ? event.actions : []));
    target = {
      smtpPort: server.smtp!.port,
      state: async (agent) => (await visit(`agent=${agent}`)) as AgentState,
      sendUpdate: (agent, to) => visit(`agent=${agent}&update=${to}`),
      async sent(count) {
        const sent = await until(
          () => (actions().length >= count ? actions() : undefined),
          `${count} messages of agents`,
        );
        return Promise.all(sent.map(({ files }) => readFile(files[0]!, "latin1")));
      },
    };
  });
  after(scope.close);
  testAgent(() => target);
});
