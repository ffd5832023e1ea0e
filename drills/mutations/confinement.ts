import type { Mutation } from "./mutation.ts";

const report = "src/server/confinement.ts";
const reportTest = "src/server/confinement.test.ts";
const deployTest = "test/deploy/service-unit.test.ts";
const imageTest = "test/deploy/image.test.ts";

/** Confinement reports, and hardening of unit and image. */
export const mutations: Mutation[] = [
  { file: report, from: `sandbox === "bwrap" || sandbox === "landlock"`, to: `sandbox !== "none"`, test: reportTest },
  { file: report, from: `if (users === "account")`, to: `if (users !== "server")`, test: reportTest },
  { file: report, from: `status === "ok" ? "" :`, to: `status !== "ok" ? "" :`, test: reportTest },
  {
    file: report,
    from: `user === undefined ? "the server's user"`,
    to: `user !== undefined ? "the server's user"`,
    test: reportTest,
  },
  {
    file: "src/server/probes.ts",
    from: `.has("verbose")`,
    to: `.has("confinement")`,
    test: "test/e2e/serve-probes.test.ts",
    name: "active confinement",
  },
  { file: "deploy/reelpost.service", from: "User=reelpost", to: "User=root", test: deployTest },
  {
    file: "deploy/reelpost.service",
    from: "SystemCallFilter=@system-service",
    to: "#SystemCallFilter=@system-service",
    test: deployTest,
  },
  { file: "deploy/Dockerfile", from: "USER 10001:10001", to: "USER 0:0", test: imageTest, name: "unprivileged user" },
];
