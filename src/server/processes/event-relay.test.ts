import assert from "node:assert/strict";
import { test } from "node:test";
import { createBoundedSender, type NotificationsMessage } from "./event-relay.ts";

test("a receiver that does not keep up loses notifications, and learns of it", () => {
  const sent: NotificationsMessage["notifications"][] = [];
  const pending: (() => void)[] = [];
  const send = createBoundedSender((message, onSent) => {
    sent.push(message.notifications);
    pending.push(onSent);
  }, 2);
  const finish = () => pending.splice(0).forEach((onSent) => onSent());

  for (const id of ["1", "2", "3", "4"]) send([["topic", id]]);
  assert.deepEqual(sent, [[["topic", "1"]], [["topic", "2"]]]);
  finish();
  assert.deepEqual(sent.slice(2), [null]);
  send([["topic", "5"]]);
  finish();
  assert.deepEqual(sent.slice(3), [[["topic", "5"]]]);
});
