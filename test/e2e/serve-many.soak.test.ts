import { test } from "node:test";
import { manyWorkers } from "./serve-many.ts";

test("200 workers on one node with slots for 6: each responds, and idle workers use no process", (t) =>
  manyWorkers(t, 200, 6));
test("200 workers on one node with slots for all: each responds, and idle workers use no process", (t) =>
  manyWorkers(t, 200, 200));
