import type { KeyObject } from "node:crypto";
import { messageOf, type Clock, type Log } from "../../kernel/index.ts";
import { certificateRequest } from "../x509/certificate.ts";
import type { AcmeClient, Authorization, WithRetryAfter, Order } from "./client.ts";
import { AcmeProblem, problemText } from "./problem.ts";
import type { ChallengeResponse, Solver } from "./solver.ts";

interface OrderDeps {
  client: AcmeClient;
  contact: readonly string[];
  solver: Solver;
  clock: Clock;
  log: Log;
  /** Aborts the order; until then it keeps waiting for the server. */
  signal: AbortSignal;
}

const FIRST_POLL_DELAY_MS = 200;
const MAX_POLL_DELAY_MS = 10_000;

/**
 * Obtains a certificate for these names and the private key `key`: account, order, challenges, chain in PEM (RFC 8555
 * 7.4).
 */
export async function orderCertificate(parts: OrderDeps, names: readonly string[], key: KeyObject): Promise<string> {
  const { client, contact, clock, signal } = parts;
  await client.register(contact);
  const order = await client.newOrder(names);
  const pollUntil = async (...done: Order["status"][]) =>
    poll(
      () => client.order(order.url),
      ({ status }) => done.includes(status),
      clock,
      signal,
    );
  if (order.status === "pending") await proveAll(parts, order.authorizations);
  if (rejectInvalid(await pollUntil("ready", "processing", "valid")).status === "ready")
    await client.finalize(order.finalize, certificateRequest(names, key));
  const { certificate } = rejectInvalid(await pollUntil("valid"));
  if (certificate === undefined) throw new AcmeProblem("The ACME order is finished but has no certificate URL", "");
  return client.certificate(certificate);
}

/** Solves all challenges of an order concurrently, because the server takes its own time to validate each one. */
async function proveAll({ client, solver, clock, log, signal }: OrderDeps, urls: readonly string[]): Promise<void> {
  const presentedProofs: ChallengeResponse[] = [];
  try {
    const pendingUrls: string[] = [];
    const challengeUrls: string[] = [];
    for (const url of urls) {
      const authorization = await client.authorization(url);
      // A server may reuse earlier authorizations (7.1.3).
      if (authorization.status === "valid") continue;
      const challenge = authorization.challenges.find(({ type }) => type === solver.type);
      const { value: name } = authorization.identifier;
      if (challenge === undefined)
        throw new AcmeProblem(
          `The ACME server does not offer ${solver.type} for ${name}, only ${authorization.challenges.map(({ type }) => type).join(", ")}`,
          "",
        );
      const proof = { name, token: challenge.token, keyAuthorization: client.keyAuthorization(challenge.token) };
      presentedProofs.push(proof);
      await solver.present(proof, signal);
      pendingUrls.push(url);
      challengeUrls.push(challenge.url);
    }
    for (const url of challengeUrls) await client.challengeReady(url);
    for (const url of pendingUrls)
      rejectUnproved(
        await poll(
          () => client.authorization(url),
          ({ status }) => status === "valid",
          clock,
          signal,
        ),
        solver.type,
      );
  } finally {
    for (const proof of presentedProofs)
      await solver
        .cleanUp(proof)
        .catch((err: unknown) =>
          log.warn({ name: proof.name, reason: messageOf(err) }, "tls: failed to remove an ACME challenge response"),
        );
  }
}

/** Polls until the state is final, with growing delays that are never shorter than the server requests. */
async function poll<Value extends WithRetryAfter<{ status: string }>>(
  readStatus: () => Promise<Value>,
  done: (thing: Value) => boolean,
  clock: Clock,
  signal: AbortSignal,
): Promise<Value> {
  for (let pause = FIRST_POLL_DELAY_MS; ; pause = Math.min(pause * 2, MAX_POLL_DELAY_MS)) {
    const thing = await readStatus();
    if (done(thing) || (thing.status !== "pending" && thing.status !== "processing" && thing.status !== "ready"))
      return thing;
    await clock.sleep(Math.min(Math.max(pause, thing.retryAfterMs ?? 0), 60_000), signal);
  }
}

function rejectInvalid(order: Order): Order {
  if (order.status === "invalid") throw new AcmeProblem(`The ACME order failed: ${problemText(order.error)}`, "");
  return order;
}

function rejectUnproved({ status, identifier, challenges }: Authorization, type: string): void {
  if (status !== "valid")
    throw new AcmeProblem(
      `The ACME server could not validate ${identifier.value} (${type}): ${problemText(challenges.find((candidate) => candidate.type === type)?.error)}`,
      "unauthorized",
    );
}
