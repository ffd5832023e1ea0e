import { defineErrors } from "../kernel/index.ts";

/** What can be wrong with starting or using the development server. */
export const devErrors = defineErrors("dev", {
  portBusy: {
    code: "port_busy",
    http: 500,
    message: "Port {port} on {host} is in use by another program.",
    fix: "Stop that program, or start with another port: `--port 0` takes any free one.",
  },
  portForbidden: {
    code: "port_forbidden",
    http: 500,
    message: "This user may not listen on port {port} of {host}.",
    fix: "Use a port above 1023, for example `--port 8787`.",
  },
  hostUnknown: { code: "host_unknown", http: 500, message: "{host} is not an address of this machine.", fix: "Use `--host 127.0.0.1`, or `--host 0.0.0.0` for every address." },
  dataDirectoryBusy: {
    code: "data_directory_busy",
    http: 500,
    message: "Another Reelpost server (process {pid}) is using the data directory {directory}.",
    fix: "Stop it, or give this one a directory of its own with `--data-dir`.",
  },
  twoWorkersOneName: {
    code: "two_workers_one_name",
    http: 400,
    message: "{first} and {second} both name their worker {name}.",
    fix: "Give one of them another `name`.",
  },
});
