import { test } from "node:test";
import { manyWorkers } from "./serve-many.ts";

test("200 workers on one node with room for 6 at a time: each answers, idle ones cost no process", (t) =>
  manyWorkers(t, 200, 6));
test("200 workers on one node with room for all: each answers, idle ones cost no process", (t) =>
  manyWorkers(t, 200, 200));
