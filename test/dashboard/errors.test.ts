import assert from "node:assert/strict";
import { test } from "node:test";
import { errorItem, failureEnvelope, invalidInput } from "../../src/api/envelope.ts";
import { defineErrors } from "../../src/kernel/index.ts";
import { z } from "zod";
import { errorOfResponse, toApiError } from "../../web/dashboard/api/errors.ts";

const errors = defineErrors("test", {
  full: { code: "E_QUEUE_FULL", http: 503, message: "The queue is full.", fix: "Raise outbound.max_queued." },
  absent: { code: 7003, http: 404, message: "No such zone." },
});

test("the dashboard shows the text and the fix from the error table", () => {
  const full = errorOfResponse(503, failureEnvelope([errorItem(errors.full())]), "4f");
  assert.deepEqual(
    [full.message, full.fix, full.status, full.requestId],
    ["The queue is full.", "Raise outbound.max_queued.", 503, "4f"],
  );
  const absent = errorOfResponse(404, failureEnvelope([errorItem(errors.absent())]));
  assert.deepEqual([absent.message, absent.fix, absent.code], ["No such zone.", undefined, 7003]);
});

test("the dashboard shows the message of each invalid field at that field", () => {
  const { error } = z.object({ data: z.object({ port: z.number() }) }).safeParse({ data: { port: "x" } });
  const { fields, fix } = errorOfResponse(400, failureEnvelope([errorItem(invalidInput(error as never, "body"))]));
  assert.match(fields["data.port"]!, /^data\.port: /);
  assert.equal(fix, undefined);
});

test("the dashboard explains a response without an envelope, and a server that does not respond", () => {
  assert.match(errorOfResponse(502, undefined).message, /502/);
  assert.equal(toApiError(new TypeError("Failed to fetch")).message, "The server cannot be reached.");
});
