import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readUsage, watchProcess, type Usage } from "./watchdog.ts";

/** A process whose readings the test writes. */
function watching(limits = { cpuMs: 100, rssMb: 100 }) {
  const usage: Usage = { cpuMs: 0, rssMb: 10 };
  const running = new Set<{ chargedMs: number }>();
  const kills: string[] = [];
  const watch = watchProcess({ usage: () => ({ ...usage }), running, kill: (outcome) => void kills.push(outcome) }, limits, 1e6);
  const burn = (ms: number) => {
    usage.cpuMs += ms;
    watch.sample();
    return kills;
  };
  return { watch, usage, running, burn };
}

describe("the watchdog", () => {
  it("kills what burns its limit without a sign of life", () => {
    const { burn } = watching();
    assert.deepEqual(burn(90), []);
    assert.deepEqual(burn(20), ["exceededCpu"]);
  });

  it("lets pass what shows signs of life, as long as no invocation has used up its own share", () => {
    const { burn, watch, running } = watching();
    for (let i = 0; i < 10; i++) {
      watch.activity();
      const short = { chargedMs: 0 };
      running.add(short);
      assert.deepEqual(burn(60), []);
      running.delete(short);
    }
    running.add({ chargedMs: 0 });
    watch.activity();
    assert.deepEqual(burn(60), []);
    watch.activity();
    assert.deepEqual(burn(60), ["exceededCpu"]);
  });

  it("divides what is burnt among those who run", () => {
    const { burn, watch, running } = watching();
    for (let i = 0; i < 3; i++) running.add({ chargedMs: 0 });
    for (let i = 0; i < 4; i++) {
      watch.activity();
      assert.deepEqual(burn(60), []);
    }
    assert.deepEqual([...running].map(({ chargedMs }) => chargedMs), [80, 80, 80]);
  });

  it("kills what grows past its memory", () => {
    const { burn, usage } = watching();
    usage.rssMb = 101;
    assert.deepEqual(burn(0), ["exceededMemory"]);
  });

  it("reads the usage of a living process, and nothing of a dead one", () => {
    const usage = readUsage(process.pid);
    assert.ok(process.platform !== "linux" || (usage!.cpuMs > 0 && usage!.rssMb > 10));
    assert.equal(readUsage(2 ** 22 + 1), undefined);
  });
});
