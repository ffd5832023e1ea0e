// node limit-worker.ts FILE: authenticates, seals and signs a message on request, and does nothing else
import { generateKeyPairSync } from "node:crypto";
import { readFileSync } from "node:fs";
import { systemClock } from "../../src/kernel/index.ts";
import { createAuthenticator, createSigner } from "../../src/mail/authenticate/index.ts";
import { sourceOf } from "./message.ts";
import type { LimitRequest, LimitTask } from "./limit.ts";

const { octets, records, from } = JSON.parse(readFileSync(process.argv[2]!, "utf8")) as LimitTask;
const source = sourceOf(Buffer.from(octets, "base64"));
const missing = Object.assign(new Error("no such name"), { code: "ENOTFOUND" });
const authenticator = createAuthenticator({
  authservId: "mx.bench.example",
  clock: systemClock,
  resolver: async (name, type) => {
    const text = type === "TXT" ? records[name] : undefined;
    if (text === undefined) throw missing;
    return [[text]];
  },
});
const signer = createSigner({ clock: systemClock });
const keyOf = (domain: string) => ({
  domain,
  selector: "s1",
  privateKey: generateKeyPairSync("rsa", {
    modulusLength: 2048,
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  }).privateKey,
});
const [service, customer] = [keyOf("mx.bench.example"), keyOf("bench.example")];

async function handle(): Promise<void> {
  const verdict = await authenticator.check({ from, helo: "sender.example", ip: "127.0.0.1" }, source);
  if (verdict.dmarc.result !== "pass") throw new Error(`the message was not authenticated: ${verdict.summary}`);
  await signer.sign(source, { dkim: [service, customer], seal: { key: service, verdict } });
}

process.on("message", ({ messages, sessions }: LimitRequest) => {
  let left = messages;
  const session = async () => {
    while (left-- > 0) await handle();
  };
  const before = process.cpuUsage();
  void Promise.all(Array.from({ length: sessions }, session)).then(() => {
    const { user, system } = process.cpuUsage(before);
    process.send!((user + system) / 1000 / messages);
  });
});
process.once("disconnect", () => process.exit(0));
