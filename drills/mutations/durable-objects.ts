import type { Mutation } from "./mutation.ts";

const MIGRATIONS = "src/workers/objects/migrations.test.ts";
const WORKERD = "src/workers/runtime/durable-objects.workerd.test.ts";

export const mutations: Mutation[] = [
  {
    file: "src/workers/objects/migration-plan.ts",
    from: 'oldTag !== tag && (oldTag !== "" || newTag !== undefined)',
    to: "oldTag > tag",
    test: MIGRATIONS,
  },
  {
    file: "src/workers/objects/migrations.ts",
    from: "if (existingIds.has(namespace.id)) deletedNamespaces.push(namespace);",
    to: "",
    test: MIGRATIONS,
  },
  {
    file: "src/workers/runtime/object-owners.ts",
    from: "if (claimingSlot !== undefined && ownerOf(claimingSlot) === owner) return claimingSlot;",
    to: "",
    test: WORKERD,
    name: "the version deployed last runs",
  },
  {
    file: "src/workers/runtime/pool.ts",
    from: "const script = slotOf(name)?.script;",
    to: "const script = slots.get(name)?.script;",
    test: WORKERD,
    name: "version deployed last",
  },
  {
    file: "src/workers/live/loaded-versions.ts",
    from: "if (entry.retired) claimForDeployed(entry.scriptId);",
    to: "",
    test: "src/workers/live/loaded-versions.test.ts",
  },
  {
    file: "src/workers/objects/alarms.ts",
    from: "const unsubscribe = storage.onReleased((worker, pauseMs) => void schedule(worker, pauseMs));",
    to: "const unsubscribe = () => {};",
    test: WORKERD,
    name: "an idle process ends",
  },
  {
    file: "src/workers/runtime/inside/tail.ts",
    from: "item.entrypoint === MAIL_ENTRYPOINT &&",
    to: "",
    test: "src/workers/tails/consumers/consumers.workerd.test.ts",
    name: "receives the events of a Durable Object",
    // The events never arrive.
    timeoutMs: 90_000,
  },
  {
    file: "src/workers/tails/trace.ts",
    from: 'executionModel: "durableObject", durableObjectId',
    to: "durableObjectId",
    test: "src/workers/tails/trace.test.ts",
  },
];
