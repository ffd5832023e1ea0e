import { defineErrors } from "../kernel/index.ts";

/** Errors of the development server. */
export const devErrors = defineErrors("dev", {
  twoWorkersOneName: {
    code: "two_workers_one_name",
    http: 400,
    message: "{first} and {second} use the same worker name: {name}.",
    fix: "Change the `name` of one of them.",
  },
  workerMissing: {
    code: "worker_missing",
    http: 404,
    message: "The development server has no worker {name}.",
    fix: "Use one of its workers: {names}.",
  },
  workerUnavailable: {
    code: "worker_unavailable",
    http: 503,
    message: "The worker {name} has no working build: {reason}.",
    fix: "Correct the code or the configuration of {name}.",
  },
  seedUnreadable: {
    code: "seed_unreadable",
    http: 400,
    message: "Cannot read {file}: {reason}.",
    fix: "Correct the path after --seed.",
  },
  seedWithoutDatabase: {
    code: "seed_without_database",
    http: 400,
    message: "Cannot run {file}: the configuration has no D1 database.",
    fix: "Add one to d1_databases, or remove --seed.",
  },
  seedAmbiguous: {
    code: "seed_ambiguous",
    http: 400,
    message: "Cannot run {file}: the configuration has several D1 databases.",
    fix: "Specify one of the bindings {names}: --seed BINDING={file}",
  },
  seedBindingUnknown: {
    code: "seed_binding_unknown",
    http: 400,
    message: "Cannot run {file}: the configuration has no D1 database {binding}.",
    fix: "Use one of the configured bindings: {names}.",
  },
  seedFailed: {
    code: "seed_failed",
    http: 400,
    message: "Failed to run {file} on {binding}: {reason}. The database is unchanged.",
    fix: "Correct the file. If a table is missing, run `reelpost d1 migrations apply {binding} --local` first.",
  },
});
