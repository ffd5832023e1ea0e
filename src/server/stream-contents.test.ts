import assert from "node:assert/strict";
import { test } from "node:test";
import { spawnServe } from "../../test/support/serve.ts";

test("an account with video resources cannot be deleted, and the error lists them", { timeout: 60_000 }, async (t) => {
  const {
    ready: { api, token },
  } = await spawnServe(t);
  const call = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(`${api}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      text,
      result: (JSON.parse(text) as { result: { id: string; uid: string } }).result,
    };
  };
  const {
    result: { id },
  } = await call("POST", "/accounts", { name: "Other" });
  const stream = `/accounts/${id}/stream`;
  const key = (await call("POST", `${stream}/keys`)).result;
  await call("PUT", `${stream}/webhook`, { notificationUrl: "https://example.com/hook" });
  const input = (await call("POST", `${stream}/live_inputs`, {})).result;
  const {
    result: { uid },
  } = await call("POST", `${stream}/direct_upload`, { maxDurationSeconds: 60 });
  const refused = await call("DELETE", `/accounts/${id}`);
  assert.notEqual(refused.status, 200);
  assert.match(refused.text, /1 video, 1 signing key, 1 webhook, 1 live input/);
  await fetch(`${api}${stream}/${uid}`, { method: "DELETE", headers: { authorization: `Bearer ${token}` } });
  await call("DELETE", `${stream}/keys/${key.id}`);
  await call("DELETE", `${stream}/webhook`);
  await call("DELETE", `${stream}/live_inputs/${input.uid}`);
  assert.equal((await call("DELETE", `/accounts/${id}`)).status, 200);
});
