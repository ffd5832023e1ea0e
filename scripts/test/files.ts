import { globSync } from "node:fs";

/** Returns the test files of the project, without those of the packages that `test/clients` installs. */
export const testFiles = (root: string): string[] =>
  globSync(["src/**/*.test.ts", "test/**/*.test.ts", "bench/**/*.test.ts", "drills/**/*.test.ts"], {
    cwd: root,
    exclude: ["**/node_modules/**"],
  });
