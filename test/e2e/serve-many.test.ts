import { test } from "node:test";
import { manyWorkers } from "./serve-many.ts";

test("40 workers on one node with slots for 4: each responds, and idle workers use no process", (t) =>
  manyWorkers(t, 40, 4));
