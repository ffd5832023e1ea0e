import { test } from "node:test";
import { manyWorkers } from "./serve-many.ts";

test("40 workers on one node with room for 4 at a time: each answers, idle ones cost no process", (t) =>
  manyWorkers(t, 40, 4));
