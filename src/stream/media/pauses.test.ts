import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { createBackgroundThrottle } from "./pauses.ts";

function start(t: TestContext) {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let now = 0;
  const reported: string[] = [];
  const beginning = new Set<number>();
  const pauses = createBackgroundThrottle({
    now: () => now,
    signal: (group, signal) => void reported.push(`${group} ${signal}`),
    hasStarted: (group) => !beginning.has(group),
  });
  return {
    pauses,
    beginning,
    reported: () => reported.splice(0),
    pass(ms: number) {
      now += ms;
      t.mock.timers.tick(ms);
    },
  };
}

test("background runs are paused while an urgent run is active, including those that start in the meantime", (t) => {
  const { pauses, reported } = start(t);
  const endBackground = pauses.register(1, "background");
  assert.deepEqual(reported(), []);
  const endFirst = pauses.register(2, "urgent");
  const endSecond = pauses.register(3, "urgent");
  assert.deepEqual(reported(), ["1 SIGSTOP"]);
  const endSoon = pauses.register(4, "soon", new AbortController().signal);
  pauses.register(5, "soon")();
  assert.deepEqual(reported(), ["4 SIGSTOP"]);
  endFirst();
  assert.deepEqual(reported(), []);
  endSecond();
  assert.deepEqual(reported(), ["1 SIGCONT", "4 SIGCONT"]);
  endBackground();
  endSoon();
});

test("a look-ahead run is resumed when a viewer starts waiting for it", (t) => {
  const { pauses, reported } = start(t);
  const came = new AbortController();
  pauses.register(1, "background");
  const endAhead = pauses.register(2, "soon", came.signal);
  const endUrgent = pauses.register(3, "urgent");
  assert.deepEqual(reported(), ["1 SIGSTOP", "2 SIGSTOP"]);
  came.abort();
  assert.deepEqual(reported(), ["2 SIGCONT"]);
  endUrgent();
  assert.deepEqual(reported(), [], "the other run is still paused");
  endAhead();
  assert.deepEqual(reported(), ["1 SIGCONT"]);
});

test("a run that has just started is paused once its program runs, if a viewer is still waiting then", (t) => {
  const { pauses, reported, pass, beginning } = start(t);
  for (const group of [1, 2, 3]) beginning.add(group);
  pauses.register(1, "background");
  const endFirst = pauses.register(9, "urgent");
  pauses.register(2, "background")();
  assert.deepEqual(reported(), []);
  beginning.delete(1);
  pass(25);
  assert.deepEqual(reported(), ["1 SIGSTOP"]);
  pauses.register(3, "background");
  endFirst();
  assert.deepEqual(reported(), ["1 SIGCONT", "3 SIGCONT"]);
  beginning.delete(3);
  pass(25);
  assert.deepEqual(reported(), []);
});

test("no run is paused forever, because it runs for a quarter of the time after three seconds", (t) => {
  const { pauses, reported, pass } = start(t);
  pauses.register(1, "background");
  pauses.register(2, "urgent");
  assert.deepEqual(reported(), ["1 SIGSTOP"]);
  pass(2_999);
  assert.deepEqual(reported(), []);
  pass(1);
  assert.deepEqual(reported(), ["1 SIGCONT"]);
  pass(749);
  assert.deepEqual(reported(), []);
  pass(1);
  assert.deepEqual(reported(), ["1 SIGSTOP"]);
});

test("short successive waits leave part of the time to background runs", (t) => {
  const { pauses, reported, pass } = start(t);
  pauses.register(1, "background");
  const end = pauses.register(2, "urgent");
  pass(1_000);
  end();
  assert.deepEqual(reported(), ["1 SIGSTOP", "1 SIGCONT"]);
  pass(100);
  const endNext = pauses.register(3, "urgent");
  assert.deepEqual(reported(), []);
  pass(150);
  assert.deepEqual(reported(), ["1 SIGSTOP"]);
  endNext();
  assert.deepEqual(reported(), ["1 SIGCONT"]);
});
