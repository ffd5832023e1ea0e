import assert from "node:assert/strict";
import { it } from "node:test";
import { UserError } from "../kernel/index.ts";
import { mailErrors } from "../mail/index.ts";
import type { DevEvent } from "./events.ts";
import { listenOnSmtpPort } from "./smtp-port.ts";

/** Starts a listener for every port for which `free` returns true. Resolves with the port and the reported events. */
async function listen(port: number | undefined, free: (port: number) => boolean, code = "EADDRINUSE") {
  const events: DevEvent[] = [];
  const listener = await listenOnSmtpPort(
    { host: "127.0.0.1", port },
    async (candidate) => {
      if (free(candidate)) return candidate;
      const cause = Object.assign(new Error(code), { code });
      throw mailErrors.listenFailed({ host: "127.0.0.1", port: candidate, reason: code }, { cause });
    },
    (event) => void events.push(event),
  );
  return { listener, events };
}

it("listens on the first free default port, and reports a port other than 2525", async () => {
  assert.deepEqual(await listen(undefined, () => true), { listener: 2525, events: [] });
  assert.deepEqual(await listen(undefined, (port) => port > 2526), {
    listener: 2527,
    events: [{ event: "notice", text: "Port 2525 is in use; SMTP listens on 2527" }],
  });
});

it("rejects if all default ports are in use or listening fails for another reason", async () => {
  await assert.rejects(
    listen(undefined, () => false),
    (err: unknown) => err instanceof UserError && /2525-2534/.test(err.message),
  );
  await assert.rejects(
    listen(undefined, (port) => port > 2525, "EACCES"),
    /EACCES/,
  );
});

it("tries no port other than the requested one", async () => {
  assert.equal((await listen(0, () => true)).listener, 0);
  await assert.rejects(
    listen(2525, (port) => port > 2525),
    UserError,
  );
});
