import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readProcessUsage, watchProcess, type Usage } from "./watchdog.ts";

/** Watches a process whose samples are set by the test. A window is ten CPU limits long. */
function watching(limits = { cpuMs: 100, rssMb: 100 }, usedMs = 0) {
  const usage: Usage = { cpuMs: usedMs, rssMb: 10 };
  let at = 0;
  const kills: string[] = [];
  const watch = watchProcess(
    { usage: () => ({ ...usage }), kill: (outcome) => void kills.push(outcome), now: () => at },
    limits,
    1e6,
  );
  /** Uses CPU time on a single core. */
  const burn = (ms: number, idleMs = 0) => {
    usage.cpuMs += ms;
    at += ms + idleMs;
    watch.sample();
    return kills;
  };
  return { watch, usage, burn };
}

describe("the watchdog", () => {
  it("kills a process that reaches its limit without any activity", () => {
    const { burn } = watching();
    assert.deepEqual(burn(90), []);
    assert.deepEqual(burn(20), ["exceededCpu"]);
  });

  it("does not charge CPU time that the process used before the watch began", () => {
    const { burn } = watching(undefined, 500);
    assert.deepEqual(burn(90), []);
    assert.deepEqual(burn(20), ["exceededCpu"]);
  });

  it("allows any number of invocations that each stay below the limit", () => {
    const { burn, watch } = watching();
    for (let i = 0; i < 100; i++) {
      const invocation = watch.begin();
      assert.deepEqual(burn(60), []);
      invocation.ended();
    }
    watch.begin();
    watch.activity();
    assert.deepEqual(burn(60), []);
    watch.activity();
    assert.deepEqual(burn(60), ["exceededCpu"]);
  });

  it("divides CPU time among the running invocations", () => {
    const { burn, watch } = watching();
    for (let i = 0; i < 3; i++) watch.begin();
    for (let i = 0; i < 4; i++) {
      watch.activity();
      assert.deepEqual(burn(70), []);
    }
    watch.activity();
    assert.deepEqual(burn(30), ["exceededCpu"]);
  });

  it("kills a process that calls bindings after a few times the CPU time limit, however many idle requests it holds", () => {
    const { burn, watch } = watching();
    for (let i = 0; i < 100; i++) watch.begin();
    let used = 0;
    for (let kills: string[] = []; kills.length === 0; used += 50) {
      watch.activity();
      kills = burn(50);
      assert.ok(used < 1000, "waiting requests increase the CPU time limit");
    }
    assert.ok(used <= 450, `killed after ${used} ms`);
  });

  it("kills a process that uses more than half of a core for alarms, each of which sets the next one", () => {
    const { burn, watch } = watching();
    let used = 0;
    for (let kills: string[] = []; kills.length === 0; used += 50) {
      watch.objectEvent({ isAlarm: true });
      kills = burn(50);
      assert.ok(used < 1000, "alarms increase the CPU time limit");
    }
    assert.deepEqual([used, watch.usedMs()], [550, 550]);
  });

  it("allows alarms and their calls to other objects that use less than half of a core", () => {
    const { burn, watch } = watching();
    for (let i = 0; i < 200; i++) {
      watch.objectEvent({ isAlarm: i % 2 === 0 });
      assert.deepEqual(burn(20, 30), [], `after ${i} events`);
    }
  });

  it("allows any number of calls to objects while requests are running", () => {
    const { burn, watch } = watching();
    for (let i = 0; i < 100; i++) {
      const request = watch.begin();
      for (let j = 0; j < 3; j++) {
        assert.deepEqual(burn(20), []);
        watch.objectEvent({ isAlarm: false });
      }
      request.ended();
    }
  });

  it("kills a process that keeps using CPU time after its responses, even if it calls bindings", () => {
    const { burn, watch } = watching();
    watch.begin().ended();
    watch.activity();
    assert.deepEqual(burn(90), []);
    watch.activity();
    assert.deepEqual(burn(90), []);
    watch.activity();
    assert.deepEqual(burn(90), ["exceededCpu"]);
  });

  it("resets the limit for each answered WebSocket message, but not for unsolicited work", () => {
    const { burn, watch } = watching();
    const socket = watch.begin({ longLived: true });
    for (let i = 0; i < 200; i++) {
      watch.activity();
      assert.deepEqual(burn(60), [], `after ${i} messages`);
      socket.answered();
    }
    burn(60);
    watch.activity();
    assert.deepEqual(burn(60), ["exceededCpu"]);
  });

  it("ignores CPU time that an open WebSocket used before the window", () => {
    const { burn, watch } = watching();
    watch.begin({ longLived: true });
    for (let i = 0; i < 200; i++) {
      watch.activity();
      assert.deepEqual(burn(2, 98), [], `after ${i} slots`);
    }
    watch.activity();
    assert.deepEqual(burn(60), []);
    watch.activity();
    assert.deepEqual(burn(60), ["exceededCpu"]);
  });

  it("charges open WebSockets together, by the number of answered messages", () => {
    const { burn, watch } = watching();
    const sockets = Array.from({ length: 50 }, () => watch.begin({ longLived: true }));
    burn(0, 2000);
    for (const socket of sockets) {
      watch.activity();
      assert.deepEqual(burn(50), []);
      socket.answered();
    }
    burn(0, 2000);
    watch.activity();
    assert.deepEqual(burn(60), []);
    watch.activity();
    assert.deepEqual(burn(60), ["exceededCpu"]);
  });

  it("kills a process that exceeds its memory limit", () => {
    const { burn, usage } = watching();
    usage.rssMb = 101;
    assert.deepEqual(burn(0), ["exceededMemory"]);
  });

  it("reads the usage of a running process, and nothing for an ended one", () => {
    const usage = readProcessUsage(process.pid);
    assert.ok(process.platform !== "linux" || (usage!.cpuMs > 0 && usage!.rssMb > 10));
    assert.equal(readProcessUsage(2 ** 22 + 1), undefined);
  });
});
