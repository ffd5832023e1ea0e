import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { copyCheckout } from "./checkout.ts";
import { type ListedMutation, mutate } from "./mutation-lists.ts";
import { runTest, type TestOutcome } from "./test-process.ts";

interface MutationRunOptions {
  root: string;
  /** Folder for copies of the checkout and temporary files. */
  dir: string;
  jobs: number;
  say(line: string): void;
  /** Timeout for a test that hangs, unless the mutation sets its own. */
  timeoutMs?: number;
  signal?: AbortSignal;
}

interface MutationReport {
  killed: number;
  /** Number of killed mutations whose test hung, as declared by the mutation. */
  killed_by_timeout: number;
  survived: number;
  /** No result: the mutation cannot be applied, or its test fails without the mutation. */
  invalid: number;
  /** Share of all listed mutations, including invalid ones. */
  killed_ratio: number;
  survivors: string[];
  invalids: string[];
}

type Verdict =
  | { kind: "killed"; by: string; hung: boolean }
  | { kind: "survived" }
  | { kind: "invalid"; problem: string };

const TIMEOUT_MS = 180_000;

/**
 * Runs every test without mutations first, because a test that fails at baseline cannot detect a mutation. Then runs
 * one mutation at a time in each copy.
 */
export async function runMutations(
  mutations: readonly ListedMutation[],
  { root, dir, jobs, say, timeoutMs = TIMEOUT_MS, signal }: MutationRunOptions,
): Promise<MutationReport> {
  const copies = Array.from({ length: Math.min(jobs, mutations.length) }, (_, i) => join(dir, String(i)));
  for (const copy of copies) copyCheckout(root, copy);
  const run = (copy: string, { test, name }: ListedMutation, limitMs: number) =>
    runTest({ root: copy, test, name, timeoutMs: limitMs, scratch: dir, ...(signal ? { signal } : {}) });

  const baselines = new Map<string, TestOutcome>();
  const tests = [...new Map(mutations.map((mutation) => [testOf(mutation), mutation])).values()];
  await inParallel(tests, copies, async (mutation, copy) => {
    const outcome = await run(copy, mutation, timeoutMs);
    baselines.set(testOf(mutation), outcome);
    if (outcome.kind !== "passed") say(`fails without a mutation: ${testOf(mutation)}: ${textOf(outcome)}`);
  });

  const verdicts = new Map<string, Verdict>();
  await inParallel(mutations, copies, async (mutation, copy) => {
    const verdict = await tryOut(mutation, copy);
    verdicts.set(mutation.id, verdict);
    say(
      `${String(verdicts.size).padStart(4)}/${mutations.length}  ${verdict.kind.padEnd(8)}  ${describe(mutation)}${verdict.kind === "killed" ? `  by "${verdict.by}"` : ""}${verdict.kind === "invalid" ? `  ${verdict.problem}` : ""}`,
    );
  });
  return reportOf(mutations, verdicts);

  async function tryOut(mutation: ListedMutation, copy: string): Promise<Verdict> {
    const baseline = baselines.get(testOf(mutation))!;
    if (baseline.kind !== "passed")
      return { kind: "invalid", problem: `${testOf(mutation)} fails without the change: ${textOf(baseline)}` };
    const changed = mutate(copy, mutation);
    if ("problem" in changed) return { kind: "invalid", problem: changed.problem };
    const path = join(copy, mutation.file);
    const original = readFileSync(path);
    try {
      writeFileSync(path, changed.source);
      const outcome = await run(copy, mutation, mutation.timeoutMs ?? timeoutMs);
      if (outcome.kind === "passed") return { kind: "survived" };
      if (outcome.kind === "failed") return { kind: "killed", by: outcome.test, hung: false };
      if (outcome.kind === "timed out" && mutation.timeoutMs !== undefined)
        return { kind: "killed", by: "a timeout, as expected", hung: true };
      return { kind: "invalid", problem: textOf(outcome) };
    } finally {
      writeFileSync(path, original);
    }
  }
}

function reportOf(mutations: readonly ListedMutation[], verdicts: ReadonlyMap<string, Verdict>): MutationReport {
  const of = (kind: Verdict["kind"]) => mutations.filter(({ id }) => verdicts.get(id)?.kind === kind);
  const killed = of("killed").length;
  return {
    killed,
    killed_by_timeout: [...verdicts.values()].filter((verdict) => verdict.kind === "killed" && verdict.hung).length,
    survived: of("survived").length,
    invalid: of("invalid").length,
    killed_ratio: mutations.length === 0 ? 0 : Number((killed / mutations.length).toFixed(4)),
    survivors: of("survived").map(describe),
    invalids: of("invalid").map((mutation) => {
      const verdict = verdicts.get(mutation.id)!;
      return `${describe(mutation)}: ${verdict.kind === "invalid" ? verdict.problem : ""}`;
    }),
  };
}

const testOf = ({ test, name }: ListedMutation): string => (name === undefined ? test : `${test} (${name})`);
const describe = ({ id, file, from, to }: ListedMutation): string =>
  `${id}: ${file}: ${oneLine(from)} -> ${oneLine(to)}`;
const oneLine = (text: string): string => JSON.stringify(text.length > 80 ? `${text.slice(0, 77)}...` : text);

function textOf(outcome: TestOutcome): string {
  if (outcome.kind === "failed") return `"${outcome.test}" fails`;
  return outcome.kind === "broken" ? outcome.problem : outcome.kind;
}

/** Each slot processes one item at a time, in order. */
async function inParallel<Item, Slot>(
  items: readonly Item[],
  slots: readonly Slot[],
  work: (item: Item, slot: Slot) => Promise<void>,
): Promise<void> {
  const left = items[Symbol.iterator]();
  await Promise.all(
    slots.map(async (slot) => {
      for (const item of left) await work(item, slot);
    }),
  );
}
