import { defineErrors } from "../kernel/index.ts";

/** What can be wrong with starting or using the development server. */
export const devErrors = defineErrors("dev", {
  twoWorkersOneName: {
    code: "two_workers_one_name",
    http: 400,
    message: "{first} and {second} use the same worker name: {name}.",
    fix: "Change the `name` of one of them.",
  },
});
