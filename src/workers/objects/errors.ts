import { defineErrors } from "../../kernel/index.ts";

/** Errors of Durable Objects. The codes match the hosted service where they are known. */
export const objectErrors = defineErrors("durable-objects", {
  notConfigured: {
    code: 10061,
    http: 400,
    message:
      "Cannot create binding for class '{className}' because it is not currently configured to implement Durable Objects. Ensure a --new-class migration has been applied to it.",
    fix: 'Add the class to "new_sqlite_classes" in a new "migrations" entry, and deploy the Worker {script}.',
  },
  stillBound: {
    code: 10061,
    http: 400,
    message:
      "Cannot apply --delete-class migration to class '{className}' without also removing the binding that references it.",
    fix: "Remove the binding '{binding}'.",
  },
  notExported: {
    code: 10064,
    http: 403,
    message:
      "New version of script does not export class '{className}' which is depended on by existing Durable Objects. If you want to delete the class's Durable Objects, try a delete-class migration.",
    fix: 'Export the class, or add it to "deleted_classes" or "renamed_classes" in a new "migrations" entry.',
  },
  newClassNotExported: {
    code: 10070,
    http: 400,
    message: "Cannot apply {step} migration to class '{className}' that is not exported by script",
    fix: "Export the class from the main module. Scripts in service-worker format cannot export classes.",
  },
  classExists: {
    code: 10074,
    http: 400,
    message:
      "Cannot apply {step} migration to class '{className}' that is already depended on by existing Durable Objects",
    fix: "Remove the class from this migration: an earlier migration already created it.",
  },
  classMissing: {
    code: 10074,
    http: 400,
    message: "Cannot apply {step} migration to class '{className}' that is not configured to implement Durable Objects",
    fix: "Correct the class name, or remove the class from this migration.",
  },
  wrongTag: {
    code: 10079,
    http: 412,
    permanent: true,
    message: "Migration tag precondition failed; current tag is {tag}",
    fix: "Send only the migrations that follow this tag, with the tag as `old_tag`.",
  },
  migrationInVersion: {
    code: 10211,
    http: 400,
    message:
      "Version upload failed. You attempted to upload a version of a Worker that includes a Durable Object migration, but migrations must be fully applied via a non-versioned deployment.",
    fix: "Deploy it with `wrangler deploy` or `reelpost deploy`.",
  },
  tooManyClasses: {
    code: 10071,
    http: 400,
    message: "The Worker would have {count} Durable Object classes; at most {limit} are allowed.",
    fix: "Delete unused classes with a migration, or distribute the classes across several Workers.",
  },
  transferUnsupported: {
    code: 10021,
    http: 400,
    message: "The migration transfers the class '{className}'; this server does not support transfers.",
    fix: 'Create the class with "new_sqlite_classes", and copy the data by sending a request to each object.',
  },
  gradualDeployment: {
    code: 10021,
    http: 400,
    message: "The Worker {script} has Durable Objects, which can run in only one version at a time.",
    fix: "Deploy one version at 100%.",
  },
  severalMachines: {
    code: 10021,
    http: 400,
    message:
      "Durable Objects are stored in local files, so they require a server on one machine. With database.url, a server may run on several.",
    fix: "Remove the Durable Objects from the Worker, or deploy it to a server without database.url.",
  },
  namespaceMissing: {
    code: 10066,
    http: 404,
    message: "The Durable Object namespace {namespace} does not exist.",
    fix: "List the existing namespaces with GET /accounts/{account}/workers/durable_objects/namespaces.",
  },
  storageBusy: {
    code: 10013,
    http: 503,
    message: "The Durable Object storage of {script} is still in use by a process that runs another version.",
    fix: "Retry in a few seconds.",
  },
});
