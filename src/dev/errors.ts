import { defineErrors } from "../kernel/index.ts";

/** Errors of the development server. */
export const devErrors = defineErrors("dev", {
  twoWorkersOneName: {
    code: "two_workers_one_name",
    http: 400,
    message: "{first} and {second} use the same worker name: {name}.",
    fix: "Change the `name` of one of them.",
  },
});
